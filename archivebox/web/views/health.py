"""Owns the answers to those who ask whether the server is well."""

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

from archivebox.workers import readiness


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
    found = readiness.problems()
    return JsonResponse({"status": "not ready" if found else "ready", **found}, status=503 if found else 200)
