"""Old records of processes go, failed ones later, and what an ArchiveResult came to stays."""

from datetime import timedelta
from uuid import UUID

from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.base_models.users import system_user
from archivebox.core.crawl_control.process_retention import BATCH, cleanup_processes, cleanup_today
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.request import Seed
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.machine.models import Machine, PeriodicTask, Process
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


def test_each_day_it_is_done_once_batch_by_batch(collection: DataFolder) -> None:
    assert collection.root.is_dir()
    rows(timedelta(days=31), 0, count=BATCH + 7)
    rows(timedelta(days=91), 1, count=3)
    left = []
    while cleanup_today(30):
        left.append(Process.objects.count())
    assert left == [10, 3, 0]
    rows(timedelta(days=31), 0)
    assert not cleanup_today(30)
    assert Process.objects.count() == 1
    PeriodicTask.objects.update(next_at=timezone.now())
    assert cleanup_today(30)
    assert Process.objects.count() == 0


def test_records_stay_for_ever_where_that_is_wanted(collection: DataFolder) -> None:
    assert collection.root.is_dir()
    rows(timedelta(days=3_000), 0)
    assert not cleanup_today(0)
    assert Process.objects.count() == 1


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
