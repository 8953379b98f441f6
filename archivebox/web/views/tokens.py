"""Owns the pages of what other programs use: one's own tokens, made, shown once, revoked, and the API's reference."""

from datetime import timedelta
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from archivebox.accounts import audit, tokens
from archivebox.accounts.roles import Action
from archivebox.accounts.tokens import Token
from archivebox.base_models.transactions import write_transaction
from archivebox.web.auth.page_access import account_of, requires
from archivebox.web.page.list_paging import page_of
from archivebox.web.page.redirects import our_address

PURPOSES = (
    ("read", "Read", "pages, results and crawls"),
    ("add", "Add", "add pages, for example from a browser extension"),
    ("write", "Read and change", "everything that an editor can do"),
    ("feed", "Feed", "lists of pages for a feed reader, which can use it in a URL"),
    ("admin", "Everything", "everything that your account can do"),
)
DAYS = ((30, "a month"), (365, "a year"), (3650, "ten years"))


class TokenForm(forms.Form):
    label = forms.CharField(label="Label", max_length=100, widget=forms.TextInput(attrs={"placeholder": "My phone"}))
    scope = forms.ChoiceField(
        label="Permissions", choices=[(name, f"{label}: {what}") for name, label, what in PURPOSES], initial="read"
    )
    days = forms.TypedChoiceField(label="Valid for", choices=DAYS, coerce=int, initial=365)


@requires(Action.OWN, to_change=Action.OWN)
def index(request: HttpRequest) -> HttpResponse:
    """POST makes a token, whose text is in the answer and never again. ``?feed=``: for a feed of this search."""
    query = request.GET.get("feed")
    initial = {} if query is None else {"scope": "feed", "label": f"Feed of {query or 'all pages'}"[:100]}
    form, text = TokenForm(request.POST or None, initial=initial), ""
    if request.method == "POST" and form.is_valid():
        text, form = _make(request, form), TokenForm()
    page = page_of(_own(request).filter(revoked_at__isnull=True), request)
    feeds = _feeds(request, query, text) if query is not None and text else []
    context = {"form": form, "page": page, "text": text, "query": query, "feeds": feeds}
    return render(request, "web/tokens.html", context, status=422 if form.errors else 200)


def _feeds(request: HttpRequest, query: str, text: str) -> list[str]:
    """Addresses of the feeds of a search, as RSS and as JSON, that the token opens."""
    asked = urlencode({"q": query, "token": text})
    return [f"{our_address(request)}/api/v1/feeds/snapshots.{kind}?{asked}" for kind in ("rss", "json")]


def _make(request: HttpRequest, form: TokenForm) -> str:
    wanted, user = form.cleaned_data, account_of(request)
    with write_transaction():
        lifetime = timedelta(days=wanted["days"])
        token, text = tokens.issue(user, wanted["label"], [wanted["scope"]], lifetime=lifetime)
        audit.record(user, "token.created", token, label=token.label, scopes=token.scopes)
    return text


@require_POST
@requires(Action.OWN, to_change=Action.OWN)
def revoke(request: HttpRequest, token_id: UUID) -> HttpResponse:
    token = get_object_or_404(_own(request), pk=token_id)
    with write_transaction():
        token.revoke()
        audit.record(request.user, "token.revoked", token, label=token.label)
    messages.success(request, f"Revoked “{token.label}”.")
    return redirect("tokens")


def _own(request: HttpRequest) -> tokens.TokenQuerySet:
    return Token.objects.filter(user=account_of(request))


@requires(Action.LIST)
def api_docs(request: HttpRequest) -> HttpResponse:
    """Drawn by Swagger UI from ``/api/v1/openapi.json``; Redoc sends no requests, Scalar sends them to its makers."""
    return render(request, "web/api_docs.html")
