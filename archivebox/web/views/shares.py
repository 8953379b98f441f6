"""Owns share links: made, shown once, listed, revoked; and what each opens without a log-in."""

from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from archivebox.accounts import audit
from archivebox.accounts.permission import reachable_snapshots
from archivebox.accounts.roles import Action
from archivebox.base_models.transactions import write_transaction
from archivebox.contract.formats import FormatKind, best_of
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.outputs.opening import opening_of
from archivebox.core.snapshot import Snapshot
from archivebox.hooks import outputs_of
from archivebox.search.backend import RETRY_AFTER, SearchUnavailableError, search_turn
from archivebox.search.models import (
    LIFETIME,
    SavedSearch,
    ShareLink,
    ShareLinkQuerySet,
    ShareRefusedError,
    create_share_link,
    find_share_link,
)
from archivebox.search.query import QueryError
from archivebox.web.auth.page_access import account_of, allows, requires
from archivebox.web.page.list_paging import page_of
from archivebox.web.page.redirects import back_to, public_address
from archivebox.web.snapshot.format_views import article_of
from archivebox.web.snapshot.replay_frame import base_of, frame_of


def own_shares(request: HttpRequest) -> ShareLinkQuerySet:
    """Those of whoever asks; an administrator's are all."""
    rows = ShareLink.objects.all()
    return rows if allows(request, Action.ADMINISTER) else rows.filter(owner=account_of(request))


def shares_of(request: HttpRequest, snapshot: Snapshot) -> ShareLinkQuerySet:
    """Those to one page that are valid now."""
    if not allows(request, Action.EDIT):
        return ShareLink.objects.none()
    return own_shares(request).valid().filter(snapshot=snapshot)


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
    days, owner = request.POST.get("days", ""), account_of(request)
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
        return get_object_or_404(SavedSearch, owner=account_of(request), pk=UUID(request.POST.get("search", "")))
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


# --- what a link opens ---------------------------------------------------------------------------------------------

_GONE = "This link has expired or was revoked, or the page is no longer shared. Ask the sender for a new link."
_UNAVAILABLE = "This search is unavailable. Try again later."


@login_not_required
@require_safe
def opened(request: HttpRequest, token: str) -> HttpResponse:
    """The page that was shared, or the list of what a search finds now."""
    link = find_share_link(token)
    if link is None:
        return _closed(request, 404, _GONE)
    if link.snapshot_id is not None:
        return _page(request, token, link, link.snapshot_id)
    try:
        with search_turn(link.query):
            page = page_of(link.selection().rows, request)
    except (QueryError, SearchUnavailableError):
        return _closed(request, 503, _UNAVAILABLE)
    _count(request, link)
    context = {"token": token, "link": link, "page": page}
    return _answer(render(request, "web/shared/list.html", context))


@login_not_required
@require_safe
def one_found(request: HttpRequest, token: str, snapshot_id: UUID) -> HttpResponse:
    """One page of those that a shared search finds."""
    link = find_share_link(token)
    if link is None or link.search_id is None:
        return _closed(request, 404, _GONE)
    return _page(request, token, link, snapshot_id)


def _page(request: HttpRequest, token: str, link: ShareLink, snapshot_id: UUID) -> HttpResponse:
    try:
        snapshot = link.page(snapshot_id)
    except (QueryError, SearchUnavailableError):
        return _closed(request, 503, _UNAVAILABLE)
    if snapshot is None:
        return _closed(request, 404, _GONE)
    _count(request, link)
    results = list(snapshot.archiveresult_set.all())
    frame, article = frame_of(request, snapshot, link=link), _article(request, snapshot, link, results)
    copy = opening_of(snapshot, results, has_replay=frame is not None).copy
    frame = frame_of(request, snapshot, copy, link) if copy else frame
    shows_article = article is not None and (frame is None or request.GET.get("view") == "article")
    context = {
        "token": token,
        "link": link,
        "snapshot": snapshot,
        "frame": None if shows_article else frame,
        "about": article if shows_article else None,
        "has_both": frame is not None and article is not None,
    }
    return _answer(render(request, "web/shared/page.html", context))


def _article(
    request: HttpRequest, snapshot: Snapshot, link: ShareLink, results: list[ArchiveResult]
) -> dict[str, object] | None:
    """The best article, whose links lead to the live web; None where none was kept."""
    best = best_of(results, outputs_of, "reader")
    if best is None or best.file is None or best.kind is not FormatKind.PAGE:
        return None
    return article_of(snapshot, best, best.file, base_of(request, snapshot, link), "")


def _count(request: HttpRequest, link: ShareLink) -> None:
    if request.method == "GET":
        link.count_view()


def _closed(request: HttpRequest, status: int, sentence: str) -> HttpResponse:
    context = {"title": "Not shared", "sentence": sentence}
    answer = _answer(render(request, "web/error.html", context, status=status))
    if sentence == _UNAVAILABLE:
        answer["Retry-After"] = str(RETRY_AFTER)
    return answer


def _answer(answer: HttpResponse) -> HttpResponse:
    """The address is the secret: no search engine keeps it, and no other site is told."""
    answer["X-Robots-Tag"] = "noindex, nofollow"
    answer["Referrer-Policy"] = "no-referrer"
    return answer
