"""Owns who may have a stream of what changes, and of what: everybody who may read, of what is there for them."""

from collections.abc import Iterator
from contextlib import suppress
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET

from archivebox.accounts.permission import viewer_scope, visible_crawls, visible_snapshots
from archivebox.accounts.roles import Action
from archivebox.base_models.literal import Literal
from archivebox.base_models.visibility import MEMBERS, ViewerScope, Visibility, hidden_from
from archivebox.web.auth.page_access import requires
from archivebox.web.live.hub import HEADER, Topic, topic_of

MOST_CRAWLS = 4
"""Crawls that one page follows."""
RETRY = 1_000
"""Milliseconds until a browser whose stream broke asks for another."""


@require_GET
@requires(Action.READ)
def events(request: HttpRequest) -> HttpResponse:
    """The beginning of a stream, of the crawls ``?crawl=``, too; :mod:`archivebox.web.live.stream` goes on with it."""
    answer = _beginning()
    answer.headers[HEADER] = " ".join(_topics(request))
    return answer


@require_GET
@requires(Action.READ)
def screencast(request: HttpRequest, crawl_id: UUID) -> HttpResponse:
    """The same for what the tabs of a crawl show; of one with a page that is hidden, none is shown."""
    crawl = get_object_or_404(visible_crawls(request.user), pk=crawl_id)
    if hidden_from(viewer_scope(request.user), crawl.snapshot_set.unsealed()).exists():
        raise Http404("no such screen")
    return _beginning()


def _beginning() -> HttpResponse:
    answer = HttpResponse(f"retry: {RETRY}\n\n", content_type="text/event-stream")
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["X-Accel-Buffering"] = "no"  # nginx would keep events until it has 4 KB
    return answer


def _topics(request: HttpRequest) -> Iterator[Topic]:
    """What is told to all who see as far; and of the crawls that the page shows, those that are seen."""
    scope = _shared(request)
    yield topic_of(scope)
    keys = list(_keys(request.GET.getlist("crawl")[:MOST_CRAWLS]))
    for key in visible_crawls(request.user).filter(pk__in=keys).values_list("pk", flat=True):
        yield topic_of(scope, key)


def _shared(request: HttpRequest) -> ViewerScope:
    """How far somebody sees, as one with all others where they own nothing private."""
    scope = viewer_scope(request.user)
    mine = {"created_by": scope.account, "visibility": Literal(Visibility.PRIVATE)}
    is_more = scope.is_whole or any(
        rows.filter(**mine).exists() for rows in (visible_crawls(request.user), visible_snapshots(request.user))
    )
    return scope if is_more else MEMBERS


def _keys(texts: list[str]) -> Iterator[UUID]:
    for text in texts:
        with suppress(ValueError):  # what is no key is nobody's crawl
            yield UUID(text)
