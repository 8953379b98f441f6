"""Owns who may have a stream of what changes: everybody who may read."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET

from archivebox.accounts.permission import sight_of
from archivebox.accounts.roles import Action
from archivebox.base_models.visibility import seen_by
from archivebox.crawls.crawl import Crawl
from archivebox.web.access import requires

RETRY = 1_000
"""Milliseconds until a browser whose stream broke asks for another."""


@require_GET
@requires(Action.READ)
def events(request: HttpRequest) -> HttpResponse:
    """The beginning of a stream; :mod:`archivebox.web.live.stream` goes on with it."""
    del request
    return _beginning()


@require_GET
@requires(Action.READ)
def screencast(request: HttpRequest, crawl_id: UUID) -> HttpResponse:
    """The same for what the tabs of a crawl show."""
    get_object_or_404(seen_by(sight_of(request.user), Crawl.objects.only("pk")), pk=crawl_id)
    return _beginning()


def _beginning() -> HttpResponse:
    answer = HttpResponse(f"retry: {RETRY}\n\n", content_type="text/event-stream")
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["X-Accel-Buffering"] = "no"  # nginx would keep events until it has 4 KB
    return answer
