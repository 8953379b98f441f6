"""Owns one's own share links: made, shown once, listed, revoked."""

from datetime import timedelta
from typing import cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from archivebox.accounts import audit
from archivebox.accounts.permission import reachable_snapshots
from archivebox.accounts.roles import Action
from archivebox.base_models.transactions import write_transaction
from archivebox.core.snapshot import Snapshot
from archivebox.search.models import SavedSearch
from archivebox.search.share import LIFETIME, ShareRefusedError, create_share_link
from archivebox.web.auth.page_access import requires
from archivebox.web.library.share_links import own_shares
from archivebox.web.page.list_paging import page_of
from archivebox.web.page.redirects import back_to, public_address


@requires(Action.EDIT, to_change=Action.EDIT)
def index(request: HttpRequest) -> HttpResponse:
    """POST makes a link for ``snapshot`` or ``search``, whose address is in the answer and never again."""
    address, status = "", 200
    if request.method == "POST":
        try:
            address = _make(request)
        except ShareRefusedError as refused:
            messages.error(request, str(refused))
            status = 422
    page = page_of(own_shares(request).valid().select_related("snapshot", "search", "owner"), request)
    return render(request, "web/shared/index.html", {"page": page, "address": address}, status=status)


def _make(request: HttpRequest) -> str:
    days, owner = request.POST.get("days", ""), cast("User", request.user)
    lifetime = timedelta(days=int(days)) if days.isdecimal() and len(days) <= 4 else LIFETIME
    with write_transaction():
        link, token = create_share_link(owner, _target(request), lifetime)
        audit.record(owner, "share.created", link, of=str(link.snapshot or link.search), expires=str(link.expires_at))
    return f"{public_address(request)}{reverse('shared', args=[token])}"


def _target(request: HttpRequest) -> Snapshot | SavedSearch:
    try:
        if key := request.POST.get("snapshot"):
            page: Snapshot = get_object_or_404(reachable_snapshots(request.user), pk=UUID(key))
            return page
        return get_object_or_404(SavedSearch, owner=cast("User", request.user), pk=UUID(request.POST.get("search", "")))
    except ValueError as error:
        raise Http404("no such key") from error


@require_POST
@requires(Action.EDIT, to_change=Action.EDIT)
def revoke(request: HttpRequest, link_id: UUID) -> HttpResponse:
    link = get_object_or_404(own_shares(request), pk=link_id)
    with write_transaction():
        link.revoke()
        audit.record(request.user, "share.revoked", link, of=str(link.snapshot or link.search))
    messages.success(request, "Revoked. The link no longer works, and open sessions have ended.")
    return redirect(back_to(request, "shares"))
