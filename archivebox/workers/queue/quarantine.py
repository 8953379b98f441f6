"""A Snapshot that kills its workers is put aside, so that it holds nobody up."""

from django.utils import timezone

from archivebox.base_models.doorbell import notify_workers
from archivebox.base_models.transactions import write_transaction
from archivebox.contract.reasons import Reason
from archivebox.core.snapshot import Snapshot
from archivebox.core.statemachines import ArchiveResultMachine
from archivebox.workers.queue.lease import Lease

MOST_DEATHS = 5


def quarantine(lease: Lease) -> bool:
    """Seal a Snapshot that killed its workers too often in a row, with its unfinished results failed."""
    snapshot = Snapshot.objects.filter(pk=lease.pk, attempts__gte=MOST_DEATHS).first()
    if snapshot is None:
        return False
    with write_transaction():
        if snapshot.status == Snapshot.StatusChoices.SEALED:
            snapshot.transition("reopen")
        if snapshot.status != Snapshot.StatusChoices.STARTED:
            snapshot.transition("start")  # writes the results that it lacks
        unfinished = snapshot.archiveresult_set.unfinished()
        ArchiveResultMachine.apply(unfinished, ArchiveResultMachine.fail, reason=Reason.WORKER_LOST, retry_at=None)
        end = {"owner": None, "retry_at": None, "reason": Reason.WORKER_LOST, "sealed_at": timezone.now()}
        snapshot.transition("seal", **end, attempts=0)  # a retry that somebody asks for begins anew
        snapshot.crawl.wake()
        notify_workers()
    return True
