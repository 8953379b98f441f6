"""Owns how a long list of URLs is added: in parts, between which others write; all of it becomes a crawl, or nothing.

One transaction for all would keep everybody else from writing for minutes. Until the last part is written the crawl is
paused with a reason of its own, so that nothing of it runs. What a killed command leaves behind is removed later.
"""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TypeVar
from uuid import UUID

from django.db import connection, models

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.work import lease_clock
from archivebox.contract.reasons import Reason
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl
from archivebox.lib.batches import batches

Item = TypeVar("Item")
log = logging.getLogger(__name__)
HELD = {"status": Crawl.StatusChoices.PAUSED, "retry_at": None}
"""Columns of a crawl that waits until somebody resumes it."""
HELD_BACK = {**HELD, "reason": Reason.BEING_ADDED}
"""Columns of a crawl while its URLs are being added."""
LONG = 2_000
"""URLs of a list that is still added in one transaction."""
PART = 500
"""URLs of one transaction: about 0.2 seconds."""
PAUSE = 0.02
"""Seconds between two parts: whoever waits to write is woken, and comes first."""
ABANDONED_AFTER = timedelta(minutes=2)
"""After so long without another part the command that adds them is taken for dead."""
REMOVE_SECONDS = 1.0
"""How long one call of :func:`remove_abandoned` may take: a worker calls it again and again."""


class AddingEndedError(Exception):
    """The crawl was removed while its URLs were still being added; the message is for people."""


def is_long(urls: int) -> bool:
    """Whether so many are added in parts; within a transaction of somebody else's there are none."""
    return urls > LONG and not connection.in_atomic_block


def add_in_parts(
    crawl: Crawl, items: Sequence[Item], write_part: Callable[[Sequence[Item]], None], *, hold: bool = False
) -> None:
    """Save a crawl that was planned with ``HELD_BACK``, and write its parts; after an error nothing of it is left.

    ``hold``: it stays paused. AddingEndedError where somebody removes the crawl meanwhile.
    """
    source, crawl.source = crawl.source, ""  # its copy is removed with a command that is killed
    try:
        with write_transaction():
            crawl.save(force_insert=True)
        for part in batches(items, PART):
            with write_transaction():
                _say_that_it_goes_on(crawl)
                write_part(part)
            time.sleep(PAUSE)
        with write_transaction():
            _say_that_it_goes_on(crawl)
            _release_crawl(crawl.pk, source, hold=hold)
    except BaseException:
        _remove(crawl.pk)
        raise
    crawl.refresh_from_db()


def _release_crawl(crawl_id: UUID, source: str, *, hold: bool) -> None:
    row = Crawl.objects.get(pk=crawl_id)
    if row.status != Crawl.StatusChoices.PAUSED or row.reason != Reason.BEING_ADDED:
        row.wake()  # somebody resumed or cancelled it: that holds for what came since, too
    elif hold:
        Crawl.objects.filter(pk=crawl_id).update(reason="")
    else:
        row.transition("resume")
    Crawl.objects.filter(pk=crawl_id).update(source=source)


def remove_abandoned() -> bool:
    """Remove some of what killed commands left behind; whether there was anything."""
    left = list(_being_added().filter(modified_at__lt=lease_clock() - ABANDONED_AFTER).values_list("pk", flat=True)[:1])
    for crawl_id in left:
        log.warning("Crawl %s is removed: its add was killed before the end action=add_abandoned", crawl_id)
        _remove(crawl_id, until=time.monotonic() + REMOVE_SECONDS)
    return bool(left)


def _say_that_it_goes_on(crawl: Crawl) -> None:
    if not Crawl.objects.filter(pk=crawl.pk).update(modified_at=lease_clock()):
        raise AddingEndedError("The crawl was removed while its URLs were being added. Add them again.")


def _being_added() -> "models.QuerySet[Crawl]":
    return Crawl.objects.filter(status=Crawl.StatusChoices.PAUSED, reason=Reason.BEING_ADDED)


def _remove(crawl_id: UUID, until: float | None = None) -> None:
    """Remove a crawl that never ran, in parts as it was written; up to a moment, if one is given."""
    pages = Snapshot.objects.filter(crawl=crawl_id)
    while keys := list(pages.values_list("pk", flat=True)[:PART]):
        if until is not None and time.monotonic() > until:
            return
        with write_transaction():
            Snapshot.objects.filter(pk__in=keys).delete()
        time.sleep(PAUSE)
    with write_transaction():
        Crawl.objects.filter(pk=crawl_id).delete()
