"""Owns on which machines a crawl is open: on one, and on another where it has more pages than these begin.

The run of a crawl on a machine (`CrawlRun`), leased by a worker there, is that machine's turn: pages are claimed where
their crawl is open alone. A turn ends with its lease, when no page needs it any more, or after ``CRAWL_TURN`` where
another crawl waits. Where one machine works alone, nothing is asked.
"""

from datetime import timedelta
from uuid import UUID

from django.utils import timezone

from archivebox.base_models.work import HELD, lease_clock
from archivebox.crawls.crawl import CrawlRun
from archivebox.machine.machine_id import is_fleet
from archivebox.workers.queue.due import Allowance, Cursor, due, fresh_pages_due
from archivebox.workers.queue.hosts import blocked_hosts, free_places

JOIN_AFTER = timedelta(seconds=5)
"""How long pages wait for the machines on which their crawl is open, until another opens it as well."""


def may_open(crawl_id: UUID, machine: UUID) -> bool:
    """Whether a machine opens this crawl, which is not open there."""
    if not is_fleet():
        return True
    elsewhere = _open_elsewhere(crawl_id, machine)
    return not elsewhere or _pages_left_waiting(crawl_id, elsewhere + 1) > elsewhere


def _pages_left_waiting(crawl_id: UUID, most: int) -> int:
    """How many pages could begin and have not for a while, up to ``most``; such as are tried again do not count.

    Of one host that has room for one page more these are one: a machine frees that place, and takes it a moment later.
    """
    since, count = timezone.now() - JOIN_AFTER, 0
    for page in due(crawl_id, blocked_hosts(), Allowance(most), Cursor(), since):
        count += min(free_places(page.host), fresh_pages_due(crawl_id, page.host, since))
        if count >= most:
            break
    return count


def _open_elsewhere(crawl_id: UUID, machine: UUID) -> int:
    """How many runs of a crawl are leased on other machines; one that drains begins no page."""
    leased = CrawlRun.objects.unsealed().filter(HELD, crawl_id=crawl_id, retry_at__gt=lease_clock())
    return int(leased.filter(machine__drain_by__isnull=True).exclude(machine_id=machine).count())
