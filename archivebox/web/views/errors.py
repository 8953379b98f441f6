"""Owns the pages that say what went wrong."""

import logging

from django.core.exceptions import DisallowedHost, RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from archivebox.accounts.roles import Action
from archivebox.config.conffile import ConfError
from archivebox.config.resolve import SettingError
from archivebox.core.page_storage.folder import STORE_RETRY_AFTER, STORE_UNAVAILABLE
from archivebox.lib.object_store import ObjectStoreError
from archivebox.lib.problem_details import CONTENT_TYPE, problem
from archivebox.search.backend import RETRY_AFTER, SearchUnavailableError
from archivebox.web.auth.page_access import allows

log = logging.getLogger(__name__)


def _page(request: HttpRequest, status: int, title: str, sentence: str) -> HttpResponse:
    """A page; for a request to the API that its handlers did not answer, a problem (RFC 9457)."""
    if request.path_info.startswith("/api/"):
        return JsonResponse(problem(status, sentence), status=status, content_type=CONTENT_TYPE)
    return render(request, "web/error.html", {"title": title, "sentence": sentence}, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, DisallowedHost):
        host = request.META.get("HTTP_HOST", "")
        sentence = f"This server is not configured for {host}. Add it to ALLOWED_HOSTS if it is yours."
        return HttpResponse(sentence, status=400, content_type="text/plain; charset=utf-8")
    if isinstance(exception, RequestDataTooBig):
        return _page(request, 413, "Request too large", "Use `archivebox add` for more than 10 MB of URLs.")
    return _page(request, 400, "Invalid request", "Go back, reload the page, and try again.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    del exception
    return _page(request, 403, "Not allowed", "Your account does not have permission to do this.")


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    del reason
    return _page(
        request,
        403,
        "This form has expired",
        "Go back, reload the page and try again. Cookies must be enabled.",
    )


def not_there(request: HttpRequest, exception: Exception) -> HttpResponse:
    del exception
    return _page(request, 404, "Page not found", "The page may have been removed, or the address is incomplete.")


def misconfigured(request: HttpRequest, error: ConfError | SettingError) -> HttpResponse:
    """What the file says may be a secret: who administers the collection is told, others whom to ask."""
    sentence = "The settings of this archive cannot be read. Contact your administrator."
    if allows(request, Action.ADMINISTER):
        sentence = f"{error}. Fix it in ArchiveBox.conf or with `archivebox config set`, then reload this page."
    return _page(request, 503, "This archive is misconfigured", sentence)


def store_unavailable(request: HttpRequest, error: ObjectStoreError) -> HttpResponse:
    log.warning("%s action=store_failed", error)
    answer = _page(request, 503, "The files are not available now", STORE_UNAVAILABLE)
    answer["Retry-After"] = str(STORE_RETRY_AFTER)
    return answer


def search_unavailable(request: HttpRequest, error: SearchUnavailableError) -> HttpResponse:
    answer = _page(request, 503, "Search is not available now", str(error))
    answer["Retry-After"] = str(RETRY_AFTER)
    return answer


def server_error(request: HttpRequest) -> HttpResponse:
    return _page(request, 500, "Internal error", "See logs/web.log on the server for details.")
