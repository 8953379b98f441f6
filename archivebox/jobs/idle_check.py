"""Owns whether there is nothing else to do, so that work may be done for which nobody waits."""

import os

import psutil
from django.db.models import Exists, OuterRef
from django.utils import timezone

from archivebox.base_models.work import HELD
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl

SAMPLE = 0.5
"""Seconds in which the use of all cores is looked at."""


class IdleCheck:
    """Whether it is the turn of measuring, asked before a page and again and again while its replay is shown.

    Pages that wait to be captured come first. Beside those that are being captured a replay is measured only where a
    core has nothing to do.
    """

    def __init__(self) -> None:
        self._is_beside = False

    def may_start(self) -> bool:
        """Blocks for half a second where pages are being captured."""
        if _page_waits():
            return False
        self._is_beside = _page_is_at_work()
        return not self._is_beside or has_idle_core()

    def must_stop(self) -> bool:
        return _page_waits() or (not self._is_beside and _page_is_at_work())


def has_idle_core() -> bool:
    """Whether one core, or the same of several, has nothing to do."""
    cores = os.cpu_count() or 1
    return cores * (100 - psutil.cpu_percent(SAMPLE)) / 100 >= 1


def _page_waits() -> bool:
    waiting = Snapshot.objects.free().filter(crawl_id=OuterRef("pk"), retry_at__lte=timezone.now())
    return bool(Crawl.objects.open().filter(Exists(waiting)).exists())


def _page_is_at_work() -> bool:
    return bool(Snapshot.objects.filter(HELD, finishing=False).exists())
