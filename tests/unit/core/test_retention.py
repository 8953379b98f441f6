"""Old records of processes go, failed ones later, and what an ArchiveResult came to stays."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.base_models.users import system_user
from archivebox.core.intake import Seed, create_crawl
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.core.retention import BATCH, cleanup_processes
from archivebox.machine.models import Machine, Process
from archivebox.storage.layout import DataFolder

MONTH = timedelta(days=30)


def rows(age: timedelta, exit_code: int | None, *, count: int = 1, status: str = "exited") -> list[Process]:
    """Records whose keys are of ``age`` ago."""
    milliseconds = int((timezone.now() - age).timestamp() * 1000) << 80
    machine = Machine.current()
    keys = [UUID(int=milliseconds | (new_id().int & ((1 << 80) - 1))) for _ in range(count)]
    return list(
        Process.objects.bulk_create(
            Process(id=key, machine=machine, status=status, exit_code=exit_code, cmd=["true"]) for key in keys
        )
    )


def test_records_go_by_age_and_failed_ones_after_three_times_that(collection: DataFolder) -> None:
    assert collection.root.is_dir()
    kept = [
        *rows(timedelta(days=29), 0),
        *rows(timedelta(days=89), 1),
        *rows(timedelta(days=89), None),
        *rows(timedelta(days=900), None, status="running"),
    ]
    rows(timedelta(days=31), 0, count=BATCH + 7)
    rows(timedelta(days=91), 1)
    rows(timedelta(days=91), None)
    assert cleanup_processes(MONTH, dry_run=True) == cleanup_processes(MONTH)
    assert set(Process.objects.values_list("pk", flat=True)) == {row.pk for row in kept}
    assert cleanup_processes(MONTH).succeeded == 0


def test_what_a_result_came_to_stays(collection: DataFolder) -> None:
    assert collection.root.is_dir()
    create_crawl([Seed("https://a.test/")], created_by=system_user())
    (process,) = rows(timedelta(days=31), 0)
    result = ArchiveResult.objects.create(
        snapshot=Snapshot.objects.get(), plugin="wget", status="succeeded", process=process, output_str="kept"
    )
    assert cleanup_processes(MONTH).succeeded == 1
    result.refresh_from_db()
    assert (result.process, result.status, result.output_str) == (None, "succeeded", "kept")
