"""Owns the app's own style sheets, scripts and pictures."""

from django.contrib.auth.decorators import login_not_required
from django.contrib.staticfiles.views import serve
from django.http import HttpRequest, HttpResponseBase


@login_not_required
def static(request: HttpRequest, path: str) -> HttpResponseBase:
    """A file that an app brings along; they change with the version only."""
    answer = serve(request, path, insecure=True)
    answer.headers["Cache-Control"] = "public, max-age=3600"
    return answer


@login_not_required
def favicon(request: HttpRequest) -> HttpResponseBase:
    return static(request, "web/favicon.svg")
