"""Owns how a web server without a worker beside it hears of settings that another machine has changed."""

import logging
import threading
import time
from collections.abc import Callable

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from archivebox.config.shared_secrets import SharedSecretError
from archivebox.machine.fleet_setting import refresh_fleet_settings
from archivebox.machine.host import Machine
from archivebox.machine.machine_id import is_fleet

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
