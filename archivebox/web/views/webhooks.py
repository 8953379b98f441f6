"""Owns the pages of webhooks: the list, one with what was sent to it, and the form that makes or changes one."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from archivebox.accounts import audit
from archivebox.accounts.roles import Action
from archivebox.base_models.transactions import write_transaction
from archivebox.search.query import QueryError, parse
from archivebox.web.auth.page_access import account_of, allows, requires
from archivebox.web.page.list_paging import page_of
from archivebox.webhooks import registering, settling
from archivebox.webhooks.models import Delivery, Event, Webhook
from archivebox.webhooks.outbox import enqueue_test_event
from archivebox.webhooks.registering import WebhookRefusedError
from archivebox.workers.egress.policies import reach_of

SOON = timedelta(seconds=15)
"""Until the next try of a message: its page waits for that."""
FIELDS = ("url", "label", "events", "query")


class WebhookForm(forms.Form):
    url = forms.CharField(
        label="Address",
        max_length=2000,
        widget=forms.URLInput(attrs={"placeholder": "https://example.org/archived", "spellcheck": "false"}),
    )
    label = forms.CharField(label="Label", max_length=100, required=False)
    events = forms.MultipleChoiceField(
        label="Events",
        choices=[(event.value, event.label) for event in Event],
        initial=[Event.SNAPSHOT_SEALED.value, Event.SNAPSHOT_FAILED.value],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one event."},
    )
    query = forms.CharField(
        label="Pages that match",
        max_length=1000,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "all", "spellcheck": "false"}),
        help_text="A query such as #news or host:example.org. Full texts are not searched.",
    )

    def clean_query(self) -> str:
        query: str = self.cleaned_data["query"]
        if query:
            try:
                parse(query)
            except QueryError as error:
                raise forms.ValidationError(str(error)) from None
        return query


@requires(Action.OWN, to_change=Action.OWN)
def index(request: HttpRequest) -> HttpResponse:
    """One's own webhooks; POST makes one, whose secret is in the answer and never again."""
    form = WebhookForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        webhook = Webhook(created_by=account_of(request))
        if _put(request, form, webhook, "webhook.created"):
            return _page(request, webhook, secret=webhook.secret)
    page = page_of(_mine(request), request)
    context = {"form": form, "page": page, "others": allows(request, Action.ADMINISTER)}
    return render(request, "web/webhooks/index.html", context, status=422 if form.errors else 200)


def _put(request: HttpRequest, form: WebhookForm, webhook: Webhook, action: str) -> bool:
    """Write down what was asked for; False, with the sentence beside its field, where that cannot be."""
    for name in FIELDS:
        setattr(webhook, name, form.cleaned_data[name])
    try:
        with write_transaction():
            registering.put(webhook, reach_of(webhook.created_by))
            audit.record(request.user, action, webhook, url=webhook.url, events=webhook.events)
    except WebhookRefusedError as error:
        form.add_error(error.field, str(error))
        return False
    return True


@requires(Action.OWN)
def one(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """One webhook, and what was sent to it."""
    return _page(request, _find(request, webhook_id))


def _page(request: HttpRequest, webhook: Webhook, *, secret: str = "") -> HttpResponse:
    page = page_of(Delivery.objects.filter(webhook=webhook), request)
    context = {
        "webhook": webhook,
        "secret": secret,
        "page": page,
        "busy": not secret and any(map(_is_on_its_way, page.rows)),
        "told": [event for event in Event if event in webhook.events],
    }
    return render(request, "web/webhooks/one.html", context)


def _is_on_its_way(delivery: Delivery) -> bool:
    """Whether somebody who looks will soon see what comes of it."""
    is_due = delivery.retry_at is not None and delivery.retry_at < timezone.now() + SOON
    return delivery.status == Delivery.StatusChoices.QUEUED and (delivery.owner is not None or is_due)


@requires(Action.OWN, to_change=Action.OWN)
def change(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """The form of one that is there; POST changes it."""
    webhook = _find(request, webhook_id)
    initial: dict[str, Any] = {name: getattr(webhook, name) for name in FIELDS}
    form = WebhookForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid() and _put(request, form, webhook, "webhook.changed"):
        return redirect("webhook", webhook.pk)
    context = {"form": form, "webhook": webhook}
    return render(request, "web/webhooks/change.html", context, status=422 if form.errors else 200)


@require_POST
@requires(Action.OWN, to_change=Action.OWN)
def do(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """``change``: ``test``, ``enable``, ``disable``, ``secret``, ``remove``."""
    webhook, wanted = _find(request, webhook_id), request.POST.get("change", "")
    if wanted not in _CHANGES:
        raise Http404("no such change")
    with write_transaction():
        audit.record(request.user, _RECORDED[wanted], webhook, url=webhook.url)
        said = _CHANGES[wanted](webhook)
    messages.success(request, said)
    if wanted == "secret":
        return _page(request, webhook, secret=webhook.secret)
    return redirect("webhooks") if wanted == "remove" else redirect("webhook", webhook_id)


@require_POST
@requires(Action.OWN, to_change=Action.OWN)
def again(request: HttpRequest, webhook_id: UUID, delivery_id: UUID) -> HttpResponse:
    """Send one message again."""
    webhook = _find(request, webhook_id)
    delivery = get_object_or_404(Delivery, webhook=webhook, pk=delivery_id)
    with write_transaction():
        done = webhook.is_enabled and settling.send_again(delivery)
        if done:
            audit.record(request.user, "webhook.resent", webhook, delivery=str(delivery.pk))
    if done:
        messages.success(request, "Sending again with the same webhook-id.")
    else:
        messages.error(request, "Already being sent." if webhook.is_enabled else "Enable the webhook first.")
    return redirect("webhook", webhook_id)


def _test(webhook: Webhook) -> str:
    enqueue_test_event(webhook)
    return "Test sent. The result appears below in a moment."


def _enable(webhook: Webhook) -> str:
    settling.enable(webhook)
    return "Enabled. Pending messages are being sent."


def _disable(webhook: Webhook) -> str:
    settling.disable(webhook)
    return "Disabled. Pending messages are held until you enable it."


def _renew(webhook: Webhook) -> str:
    registering.renew_secret(webhook)
    return "Messages are now signed with the new secret."


def _remove(webhook: Webhook) -> str:
    registering.remove(webhook)
    return "Webhook removed."


_CHANGES = {"test": _test, "enable": _enable, "disable": _disable, "secret": _renew, "remove": _remove}
_RECORDED = {
    "test": "webhook.test",
    "enable": "webhook.enabled",
    "disable": "webhook.disabled",
    "secret": "webhook.secret",
    "remove": "webhook.removed",
}


def _mine(request: HttpRequest) -> QuerySet[Webhook]:
    rows = Webhook.objects.select_related("created_by__account")
    return rows if allows(request, Action.ADMINISTER) else rows.filter(created_by=account_of(request))


def _find(request: HttpRequest, webhook_id: UUID) -> Webhook:
    return get_object_or_404(_mine(request), pk=webhook_id)
