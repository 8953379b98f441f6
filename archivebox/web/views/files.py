"""Owns the app's own style sheets, scripts and pictures."""

from django.contrib.auth.decorators import login_not_required
from django.contrib.staticfiles.views import serve
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.gzip import gzip_page


@login_not_required
@gzip_page
def static(request: HttpRequest, path: str) -> HttpResponseBase:
    """A file that an app brings along; they change with the version only."""
    found = serve(request, path, insecure=True)
    answer = HttpResponse(found.getvalue(), headers=dict(found.headers)) if isinstance(found, FileResponse) else found
    answer.headers["Cache-Control"] = "public, max-age=3600"
    return answer


@login_not_required
def favicon(request: HttpRequest) -> HttpResponseBase:
    return static(request, "web/favicon.svg")
