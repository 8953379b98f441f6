"""Owns what everybody gets without a log-in: style sheets, scripts and pictures, and whether the server is well.

The address of each file carries what is in it.
"""

import hashlib
from functools import cache
from http import HTTPStatus
from pathlib import Path

from django.contrib.auth.decorators import login_not_required
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.contrib.staticfiles.views import serve
from django.db import DatabaseError, connection
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse

from archivebox.workers.queue import readiness_check

VERSION = "v"
"""The parameter that says which version of a file is meant: an upgrade is seen at once, and else nothing is loaded."""


class VersionedStorage(StaticFilesStorage):
    """Files where they were installed, at addresses that change with their contents."""

    def url(self, name: str | None) -> str:
        return f"{super().url(name)}?{VERSION}={_version_of(name or '')}"


@cache
def _version_of(name: str) -> str:
    """Of a file that is there; empty for one that is not, which answers that itself."""
    found = finders.find(name)
    return hashlib.sha256(Path(found).read_bytes()).hexdigest()[:12] if found else ""


@login_not_required
def static(request: HttpRequest, path: str) -> HttpResponseBase:
    """A file that an app brings along. One that is asked for by its version never changes."""
    found = serve(request, path, insecure=True)
    answer = HttpResponse(found.getvalue(), headers=dict(found.headers)) if isinstance(found, FileResponse) else found
    is_lasting = answer.status_code == HTTPStatus.OK and VERSION in request.GET
    answer.headers["Cache-Control"] = "public, max-age=31536000, immutable" if is_lasting else "public, max-age=3600"
    return answer


@login_not_required
def favicon(request: HttpRequest) -> HttpResponseBase:
    return static(request, "web/favicon.svg")


@login_not_required
def health(request: HttpRequest) -> JsonResponse:
    """200 when a page could be drawn and the database answers, else 503; says nothing of what is archived."""
    del request
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return JsonResponse({"status": "the database does not answer"}, status=503)
    return JsonResponse({"status": "ok"})


@login_not_required
def ready(request: HttpRequest) -> JsonResponse:
    """200 when pages can be archived now, else 503 with what is in the way: database, disk or orchestrator."""
    del request
    found = readiness_check.problems()
    return JsonResponse({"status": "not ready" if found else "ready", **found}, status=503 if found else 200)
