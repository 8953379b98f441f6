"""What is at work on a machine."""

from uuid import UUID

from archivebox.base_models.work import HELD
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.machine.process import Process


def pages_at_work(machine_id: UUID) -> SnapshotQuerySet:
    """Pages that workers of this machine hold."""
    workers = Process.objects.of_type(Process.TypeChoices.WORKER).filter(machine_id=machine_id)
    return Snapshot.objects.filter(HELD, owner__in=workers.values("pk"))
