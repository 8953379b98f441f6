"""Owns the app's own style sheets, scripts and pictures."""

from http import HTTPStatus

from django.contrib.auth.decorators import login_not_required
from django.contrib.staticfiles.views import serve
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase

from archivebox.web.page.static_files import VERSION


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
