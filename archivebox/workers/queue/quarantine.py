"""What kills its workers, or whose folder cannot be used, is put aside with its reason, so that it holds nobody up."""

import errno

from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.contract.failures import is_retried_by_itself
from archivebox.contract.reasons import Reason, split
from archivebox.core.archiveresult import back_off
from archivebox.core.snapshot import Snapshot
from archivebox.crawls import control
from archivebox.crawls.crawl import Crawl, CrawlRun
from archivebox.lib.processes.exits import NO_ROOM
from archivebox.machine.process import Process
from archivebox.workers.queue.lease import Lease

MAX_DEATH_WEIGHT = 25
"""What deaths of workers in a row may count (:data:`reclaim.WEIGHT_ALONE`), with no progress in between, before what
they held is put aside: five that died alone, or twenty-five together with everything else."""
NOT_THE_FOLDERS = NO_ROOM | {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EBADF}
"""Errors that speak of the disk as a whole, of the machine, or of a fault of ours: no folder is to blame."""


def is_of_folder(error: OSError) -> bool:
    """Whether it is the failure of the one object whose folder was being worked with, and of nobody else."""
    return error.errno not in NOT_THE_FOLDERS


def folder_unusable(error: OSError) -> str:
    """The reason code of an object whose folder answered so."""
    return Reason.FOLDER_UNUSABLE.of(error.strerror or type(error).__name__)[:128]


def misconfigured(error: ValueError) -> str:
    """The reason code of an object of which a setting is not allowed."""
    return Reason.MISCONFIGURED.of(str(error))[:128]


def quarantine(lease: Lease) -> bool:
    """Put aside what killed its workers too often in a row; False if it did not."""
    if not lease.model.rows(pk=lease.pk, owner=lease.owner, attempts__gte=MAX_DEATH_WEIGHT).exists():
        return False
    end_with_reason(lease, Reason.WORKER_LOST)
    return True


def end_with_reason(lease: Lease, reason: str, max_attempts: int = 1) -> None:
    """End a leased item with this reason, and begin anew when somebody asks for it again. Nothing of it may run.

    What a page has left to do is tried again by itself, ``max_attempts`` times, where the reason may pass.
    """
    with write_transaction():
        for item in lease.model.rows(pk=lease.pk, owner=lease.owner, fence=lease.fence):
            if isinstance(item, Snapshot):
                _seal_snapshot(item, reason, max_attempts)
            elif isinstance(item, CrawlRun):
                _pause_crawl(item, reason)
            else:
                item.end_with_reason(reason)
        notify_workers()


def postpone_crawl(lease: Lease, reason: str) -> None:
    """Have the crawl of a leased item wait, which loses nothing. Nothing of the item may run."""
    if lease.model is not Snapshot:
        end_with_reason(lease, reason)
        return
    with write_transaction():
        rows = Snapshot.rows(pk=lease.pk, fence=lease.fence)
        for page in rows.held_by(lease.owner):
            rows.release(lease.owner)
            _pause(page.crawl, reason)


def _seal_snapshot(snapshot: Snapshot, reason: str, max_attempts: int) -> None:
    """Sealed, with its unfinished results failed, or waiting for their retry."""
    if snapshot.status == Snapshot.StatusChoices.SEALED:
        snapshot.transition("reopen")
    if snapshot.status != Snapshot.StatusChoices.STARTED:
        snapshot.transition("start")  # writes the results that it lacks
    unfinished, now = snapshot.archiveresult_set.unfinished(), timezone.now()
    why = split(reason)[0]
    if why is not None and is_retried_by_itself(why):
        for made in range(1, max_attempts):
            waits = unfinished.filter(attempts=made - 1)
            waits.transition("back_off", reason=reason, attempts=made, retry_at=now + back_off(made))
    unfinished.transition("fail", reason=reason, retry_at=None)
    retries = snapshot.archiveresult_set.filter(retry_at__isnull=False).order_by("retry_at")
    retry_at = next(iter(retries.values_list("retry_at", flat=True)[:1]), None)
    end = {"owner": None, "retry_at": retry_at, "reason": reason, "sealed_at": now}
    snapshot.transition("seal", **end, attempts=0, finishing=False)
    snapshot.crawl.wake()


def _pause_crawl(run: CrawlRun, reason: str) -> None:
    """Without its run none of its pages can be worked on: the crawl is paused, which loses nothing."""
    hooks = run.crawl.process_set.running().of_type(Process.TypeChoices.HOOK)
    for hook in hooks.filter(snapshot_id=None, binary_id=None):
        hook.terminate()
    if run.status == CrawlRun.StatusChoices.SEALED:
        run.transition("requeue", owner=run.owner)
    run.transition("seal", reason=reason, attempts=0)
    _pause(run.crawl, reason)


def _pause(crawl: Crawl, reason: str) -> None:
    if control.pause(crawl):
        Crawl.objects.filter(pk=crawl.pk).update(reason=reason)
