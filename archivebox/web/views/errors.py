"""Owns the pages that say what went wrong."""

from django.core.exceptions import DisallowedHost, RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from archivebox.accounts.roles import Action
from archivebox.config.conffile import ConfError
from archivebox.config.resolve import SettingError
from archivebox.web.auth.page_access import allows


def _page(request: HttpRequest, status: int, title: str, sentence: str) -> HttpResponse:
    return render(request, "web/error.html", {"title": title, "sentence": sentence}, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, DisallowedHost):
        host = request.META.get("HTTP_HOST", "")
        sentence = f"The server does not answer to {host}. Add the name to ALLOWED_HOSTS if it is yours."
        return HttpResponse(sentence, status=400, content_type="text/plain; charset=utf-8")
    if isinstance(exception, RequestDataTooBig):
        return _page(request, 413, "That is too much at once", "Use `archivebox add` for more than 10 MB of URLs.")
    return _page(request, 400, "That request made no sense", "Go back, reload the page, and try again.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    del exception
    return _page(request, 403, "That is not allowed", "Your account may not do this.")


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    del reason
    return _page(
        request,
        403,
        "This form is out of date",
        "Go back, reload the page, and send it again. Cookies must be allowed.",
    )


def not_there(request: HttpRequest, exception: Exception) -> HttpResponse:
    del exception
    return _page(request, 404, "Nothing is here", "The page may have been removed, or the address is not complete.")


def misconfigured(request: HttpRequest, error: ConfError | SettingError) -> HttpResponse:
    """What the file says may be a secret: who administers the collection is told, others whom to ask."""
    sentence = "Its settings cannot be read. Ask whoever looks after it."
    if allows(request, Action.ADMINISTER):
        sentence = f"{error}. Mend it in ArchiveBox.conf, or with `archivebox config set`, and load this page again."
    return _page(request, 503, "This archive is not set up right", sentence)


def broken(request: HttpRequest) -> HttpResponse:
    return _page(request, 500, "Something broke on our side", "It is in logs/web.log with the time of now.")
