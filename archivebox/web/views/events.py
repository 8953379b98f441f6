"""Owns who may have a stream of what changes: everybody who may read."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from archivebox.accounts.roles import Action
from archivebox.web.access import requires

RETRY = 1_000
"""Milliseconds until a browser whose stream broke asks for another."""


@require_GET
@requires(Action.READ)
def events(request: HttpRequest) -> HttpResponse:
    """The beginning of a stream; :mod:`archivebox.web.live.stream` goes on with it."""
    del request
    answer = HttpResponse(f"retry: {RETRY}\n\n", content_type="text/event-stream")
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["X-Accel-Buffering"] = "no"  # nginx would keep events until it has 4 KB
    return answer
