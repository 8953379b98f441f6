"""Owns the Content-Security-Policy of the app's own pages."""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

from archivebox.replay.origins import Replay, bracketed, host_name
from archivebox.web import settings

GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


def replay() -> Replay:
    """Where archived bytes are seen."""
    return Replay(settings.REPLAY_PORT, settings.REPLAY_URL, settings.BEHIND_HTTPS)


def policy(host: str) -> str:
    """Our own scripts and styles only; pictures, media and frames also from the replay origin, and from nowhere else.

    ``frame-src`` also keeps a script in a framed archived page from leading its frame to the live web.
    """
    source = replay().source(host)
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; "
        f"img-src 'self' data: {source}; media-src {source}; frame-src {source}; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'"
    )


class ContentSecurityPolicy:
    """Middleware of both kinds, so that the chain under ASGI changes threads only once."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self._is_async:
            return self._later(request)
        answer = self._get_response(request)
        assert isinstance(answer, HttpResponseBase)  # noqa: S101 - a synchronous chain gives answers, not promises
        return _with_policy(request, answer)

    async def _later(self, request: HttpRequest) -> HttpResponseBase:
        answer = self._get_response(request)
        return _with_policy(request, answer if isinstance(answer, HttpResponseBase) else await answer)


def _with_policy(request: HttpRequest, answer: HttpResponseBase) -> HttpResponseBase:
    # The name as it was sent: a wrong one must not get past its own error page.
    answer.headers.setdefault("Content-Security-Policy", policy(_plain_host(request)))
    answer.headers.setdefault("Cache-Control", "private, no-store")
    return answer


def _plain_host(request: HttpRequest) -> str:
    return bracketed(host_name(request.META.get("HTTP_HOST", "")) or "localhost")
