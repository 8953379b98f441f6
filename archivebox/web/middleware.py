"""Django's middleware of our own: what every answer carries, and settings as they are at the moment of a request.

Who may open a page is decided in ``auth/``; what is refused before Django, in ``server/``.
"""

import logging
import threading
import time
from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.deprecation import MiddlewareMixin

from archivebox.config.conffile import ConfError
from archivebox.config.resolve import SettingError
from archivebox.config.shared_secrets import SharedSecretError
from archivebox.lib.object_store import ObjectStoreError
from archivebox.machine.fleet_setting import refresh_fleet_settings
from archivebox.machine.host import Machine
from archivebox.machine.machine_id import is_fleet
from archivebox.replay.addresses import Replay, bracketed, host_name
from archivebox.search.backend import SearchUnavailableError
from archivebox.web import settings
from archivebox.web.views import errors

GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


def replay() -> Replay:
    """Where archived bytes are seen."""
    return Replay(settings.REPLAY_PORT, settings.REPLAY_URL, settings.BASE_URL)


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


_TEXTS = ("text/", "application/json", "application/problem+json", "application/feed+json", "application/rss+xml",
          "application/xml", "application/javascript", "image/svg+xml")  # fmt: skip


class Compression(GZipMiddleware):
    """Compresses text; Django adds random bytes, so that the length tells nobody what is in it (the BREACH attack)."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_text = response.headers.get("Content-Type", "").startswith(_TEXTS)
        return super().process_response(request, response) if is_text and not response.streaming else response


class Misconfigured(MiddlewareMixin):
    """ArchiveBox.conf may be edited, and spoilt, while the server runs."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, ObjectStoreError):
            return errors.store_unavailable(request, error)
        if isinstance(error, SearchUnavailableError):
            return errors.search_unavailable(request, error)
        return errors.misconfigured(request, error) if isinstance(error, ConfError | SettingError) else None


log = logging.getLogger(__name__)

REFRESH_EVERY = 3.0
"""Seconds; then the next request reads two tables of a few rows."""
_PROBES = frozenset({"health", "ready"})
"""They answer while the database is away; ``ready`` reads settings itself."""


class FleetSettings(MiddlewareMixin):
    """Reads them before a view does, at most every few seconds. Where that fails, those of before hold."""

    refresh_at = 0.0
    """By the monotonic clock; of all that answer requests in this process."""
    _refreshing = threading.Lock()

    def process_view(self, request: HttpRequest, view: Callable[..., HttpResponse], *_: object) -> None:
        del view
        is_probe = request.resolver_match is not None and request.resolver_match.url_name in _PROBES
        if is_probe or not is_fleet() or time.monotonic() < type(self).refresh_at:
            return
        if self._refreshing.acquire(blocking=False):
            try:
                type(self).refresh_at = time.monotonic() + REFRESH_EVERY
                _refresh()
            finally:
                self._refreshing.release()


def _refresh() -> None:
    try:
        Machine.refresh_settings()
        refresh_fleet_settings()
    except (DatabaseError, OSError, SharedSecretError) as error:
        log.warning("Settings were not read: %s action=settings_not_read", error)
