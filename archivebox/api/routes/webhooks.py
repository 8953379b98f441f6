"""Webhooks: addresses that are told what happens, and the record of what was sent to them."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field, StringConstraints

from archivebox.accounts.permission import may
from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer, caller, caller_account, record_audit
from archivebox.api.idempotency import show_once
from archivebox.api.paging import Page, Window, page_of
from archivebox.api.problems import ProblemError
from archivebox.api.shapes.archive import RequestBody
from archivebox.base_models.transactions import write_transaction
from archivebox.search.query import parse
from archivebox.webhooks import registering, settling
from archivebox.webhooks.models import Delivery, Webhook
from archivebox.webhooks.outbox import enqueue_test_event
from archivebox.workers.egress.policies import reach_of

EventName = Literal[
    "snapshot.sealed",
    "snapshot.failed",
    "crawl.finished",
    "crawl.paused",
    "crawl.cancelled",
    "job.finished",
    "schedule.started",
]
Address = Annotated[str, StringConstraints(min_length=1, max_length=2000), Field(description="https:// or http://")]
Events = Annotated[list[EventName], Field(min_length=1, max_length=20)]
ShortText = Annotated[str, StringConstraints(max_length=100, pattern=r"^[^\x00]*$")]
Pages = Annotated[
    str,
    StringConstraints(max_length=1000, pattern=r"^[^\x00]*$"),
    Field(description="Only pages that match this query; texts are not searched"),
]


class WebhookOut(Schema):
    """An address that is told of events."""

    id: UUID
    url: str
    label: str
    events: list[str]
    query: str
    is_enabled: bool
    problem: Annotated[str, Field(description="Why it was switched off automatically")]
    failures: Annotated[int, Field(description="Tries in a row that failed")]
    succeeded_at: Annotated[datetime | None, Field(description="When it last took a message")]
    created_by: str
    created_at: datetime

    @classmethod
    def all_of(cls, rows: Sequence[Webhook]) -> "list[WebhookOut]":
        return [cls(**webhook_fields(row)) for row in rows]


class WebhookMade(WebhookOut):
    """A webhook, with the secret that its messages are signed with."""

    secret: Annotated[str, Field(description="Shown only once")]


class WebhookIn(RequestBody):
    """What to tell, and where."""

    url: Address
    events: Events
    label: ShortText = ""
    query: Pages = ""


class WebhookPatch(RequestBody):
    """What may be changed of a webhook; what is left out stays."""

    url: Address | None = None
    events: Events | None = None
    label: ShortText | None = None
    query: Pages | None = None
    is_enabled: bool | None = None


class DeliveryOut(Schema):
    """One message, and what came of it."""

    id: Annotated[UUID, Field(description="`webhook-id` of every try")]
    webhook: UUID
    event: str
    status: Literal["queued", "succeeded", "failed"]
    tries: int
    next_at: Annotated[datetime | None, Field(description="When it is sent or retried; null: not automatically")]
    tried_at: datetime | None
    took_ms: int | None
    http_status: Annotated[int, Field(description="Of the last answer; 0: there was none")]
    problem: Annotated[str, Field(description="Why the last try failed")]
    message: dict[str, Any]
    created_at: datetime

    @classmethod
    def all_of(cls, rows: Sequence[Delivery]) -> "list[DeliveryOut]":
        return [cls._of(row) for row in rows]

    @classmethod
    def _of(cls, row: Delivery) -> "DeliveryOut":
        names = ("id", "event", "status", "tries", "tried_at", "took_ms", "http_status", "problem", "created_at")
        own = {name: getattr(row, name) for name in names}
        return cls(**own, webhook=row.webhook_id, next_at=row.retry_at, message=json.loads(row.body))


def webhook_fields(row: Webhook) -> dict[str, Any]:
    own = {name: getattr(row, name) for name in WebhookOut.model_fields if name != "created_by"}
    return {**own, "created_by": row.created_by.username}


router = Router(tags=["webhooks"])


@router.get("", response=Page[WebhookOut], auth=Bearer(Action.OWN))
def list_webhooks(request: HttpRequest, window: Query[Window]) -> Page[WebhookOut]:
    """Your own webhooks; an administrator sees all."""
    return page_of(_webhooks(request), window, WebhookOut.all_of)


@router.post("", response={201: WebhookMade}, auth=Bearer(Action.OWN))
def create_webhook(request: HttpRequest, wanted: WebhookIn) -> Status[WebhookMade]:
    """Have an address told of events. The secret that messages are signed with is in this answer, and never again."""
    show_once(request)
    webhook = Webhook(created_by=caller_account(request), **wanted.dict())
    _put(request, "webhook.created", webhook)
    return Status(201, _made(webhook))


def _put(request: HttpRequest, action: str, webhook: Webhook) -> None:
    if webhook.query:
        parse(webhook.query)
    try:
        with write_transaction():
            registering.put(webhook, reach_of(webhook.created_by))
            record_audit(request, action, webhook, url=webhook.url, events=webhook.events)
    except registering.WebhookRefusedError as error:
        raise ProblemError(422, str(error)) from None


@router.get("/{uuid:webhook_id}", response=WebhookOut, auth=Bearer(Action.OWN))
def get_webhook(request: HttpRequest, webhook_id: UUID) -> WebhookOut:
    """One webhook, without its secret."""
    return WebhookOut.all_of([_find(request, webhook_id)])[0]


@router.patch("/{uuid:webhook_id}", response=WebhookOut, auth=Bearer(Action.OWN))
def change_webhook(request: HttpRequest, webhook_id: UUID, wanted: WebhookPatch) -> WebhookOut:
    """Give it another address or other events; switch it off, or on again: what waited is sent then."""
    webhook, given = _find(request, webhook_id), wanted.dict(exclude_none=True)
    is_enabled = given.pop("is_enabled", None)
    with write_transaction():
        if given:
            for name, value in given.items():
                setattr(webhook, name, value)
            _put(request, "webhook.changed", webhook)
        if is_enabled is not None:
            (settling.enable if is_enabled else settling.disable)(webhook)
            record_audit(request, f"webhook.{'enabled' if is_enabled else 'disabled'}", webhook)
    return WebhookOut.all_of([_find(request, webhook_id)])[0]


@router.delete("/{uuid:webhook_id}", response={204: None}, auth=Bearer(Action.OWN))
def remove_webhook(request: HttpRequest, webhook_id: UUID) -> Status[None]:
    """Send it nothing more, and forget what was sent."""
    webhook = _find(request, webhook_id)
    with write_transaction():
        record_audit(request, "webhook.removed", webhook, url=webhook.url)
        registering.remove(webhook)
    return Status(204, None)


@router.post("/{uuid:webhook_id}/secret", response=WebhookMade, auth=Bearer(Action.OWN))
def renew_webhook_secret(request: HttpRequest, webhook_id: UUID) -> WebhookMade:
    """Sign with a new secret from now on."""
    show_once(request)
    webhook = _find(request, webhook_id)
    with write_transaction():
        registering.renew_secret(webhook)
        record_audit(request, "webhook.secret", webhook)
    return _made(webhook)


@router.post("/{uuid:webhook_id}/test", response={202: DeliveryOut}, auth=Bearer(Action.OWN))
def test_webhook(request: HttpRequest, webhook_id: UUID) -> Status[DeliveryOut]:
    """Send it a message of the event `webhook.test`."""
    webhook = _find(request, webhook_id)
    _ask_that_it_is_on(webhook)
    with write_transaction():
        sent = enqueue_test_event(webhook)
        record_audit(request, "webhook.test", webhook)
    return Status(202, DeliveryOut.all_of([sent])[0])


@router.get("/{uuid:webhook_id}/deliveries", response=Page[DeliveryOut], auth=Bearer(Action.OWN))
def list_deliveries(request: HttpRequest, webhook_id: UUID, window: Query[Window]) -> Page[DeliveryOut]:
    """What was sent to it in the last thirty days, and what came of it."""
    rows = Delivery.objects.filter(webhook=_find(request, webhook_id))
    return page_of(rows, window, DeliveryOut.all_of)


@router.post("/{uuid:webhook_id}/deliveries/{uuid:delivery_id}/resend", response={202: DeliveryOut},
             auth=Bearer(Action.OWN))  # fmt: skip
def resend_delivery(request: HttpRequest, webhook_id: UUID, delivery_id: UUID) -> Status[DeliveryOut]:
    """Send a message again, under the same `webhook-id`."""
    webhook = _find(request, webhook_id)
    _ask_that_it_is_on(webhook)
    delivery = Delivery.objects.filter(webhook=webhook, pk=delivery_id).first()
    if delivery is None:
        raise Http404
    with write_transaction():
        if not settling.send_again(delivery):
            raise ProblemError(409, "It is being sent right now.")
        record_audit(request, "webhook.resent", webhook, delivery=str(delivery.pk))
    return Status(202, DeliveryOut.all_of([Delivery.objects.get(pk=delivery.pk)])[0])


def _ask_that_it_is_on(webhook: Webhook) -> None:
    if not webhook.is_enabled:
        raise ProblemError(409, "This webhook is disabled. Enable it first.")


def _made(webhook: Webhook) -> WebhookMade:
    return WebhookMade(**webhook_fields(webhook), secret=webhook.secret)


def _webhooks(request: HttpRequest) -> QuerySet[Webhook]:
    rows = Webhook.objects.select_related("created_by__account")
    return rows if may(caller(request), Action.ADMINISTER) else rows.filter(created_by=caller_account(request))


def _find(request: HttpRequest, key: UUID) -> Webhook:
    found = _webhooks(request).filter(pk=key).first()
    if found is None:
        raise Http404
    return found
