from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from django.db import OperationalError
from django.utils import timezone

from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.machine.models import Process
from archivebox.storage.layout import HOOK_RUNS, hook_file
from archivebox.workers.execute.page import rows as snapshot_rows
from archivebox.workers.execute.page.rows import Loaded, load
from tests.factories import leased, row, snapshot
from tests.status_triggers import arrange

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.database]
WAITS = {"title": -1, "dom": 25, "pdf": 50}
"""Seconds that each still has to wait, of one minute."""


@pytest.mark.parametrize(
    ("end", "status"), [(snapshot_rows.seal, "sealed"), (partial(snapshot_rows.end_lease, event="release"), "queued")]
)
def test_an_end_that_the_database_did_not_take_is_written_by_the_next_try(
    end: Callable[[Snapshot], object], status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is said at the commit, when the transition was made already: the object knew it as done."""
    page = leased(snapshot())
    page.transition("start")
    failures = [OperationalError("database or disk is full")]

    def fail_once() -> None:
        if failures:
            raise failures.pop()

    monkeypatch.setattr(snapshot_rows, "notify_workers", fail_once)
    with pytest.raises(OperationalError):
        end(page)
    end(page)
    after = Snapshot.objects.get(pk=page.pk)
    assert (after.status, after.owner) == (status, None)


def test_a_page_is_opened_again_once_for_all_that_have_waited_half_their_time() -> None:
    worker = row(process_type="worker", status="running")
    page = leased(snapshot(), worker)
    assert load(page.pk, worker.pk)
    arrange(page.archiveresult_set.all(), status="noresults", retry_at=None)
    for plugin, seconds in WAITS.items():
        retry_at = timezone.now() + timedelta(seconds=seconds)
        waiting = ArchiveResult.objects.filter(snapshot=page, plugin=plugin)
        assert arrange(waiting, status="backoff", attempts=1, retry_at=retry_at)

    assert wanted(Loaded(page, is_retry=True)) == {"title", "dom"}
    assert wanted(Loaded(page, is_retry=False)) == {"title"}


def test_a_run_whose_log_was_packed_before_the_rows_were_restored_runs_again() -> None:
    """Its row is from a backup of before the seal: without its log it would count as one that found nothing."""
    worker = row(process_type="worker", status="running")
    page = leased(snapshot(), worker)
    assert load(page.pk, worker.pk)
    page.fence = 2  # somebody held it before
    arrange(page.archiveresult_set.all(), status="noresults", retry_at=None)
    runs = {plugin: ended_run(page, plugin) for plugin in ("title", "dom")}
    Path(hook_file(page.path, runs["title"].hook_name, runs["title"].pk, "stdout.log")).touch()

    loaded = Loaded(page, is_retry=False)

    assert wanted(loaded) == {"dom"}
    assert [run for run, _ in loaded.running] == [runs["title"]]


def ended_run(page: Snapshot, plugin: str) -> Process:
    """The row of a hook that has ended, which its result does not know of yet."""
    result = page.archiveresult_set.get(plugin=plugin)
    arrange(page.archiveresult_set.filter(pk=result.pk), status="started")
    folder = page.path / plugin
    folder.mkdir(parents=True)
    (page.path / HOOK_RUNS).mkdir(exist_ok=True)
    return row(
        process_type="hook",
        status="exited",
        exit_code=0,
        hook_name=result.hook_name,
        snapshot_id=page.pk,
        archiveresult_id=result.pk,
        pwd=str(folder),
    )


def wanted(loaded: Loaded) -> set[str]:
    return {item.hook.plugin for item in loaded.planned if item.status == "queued"}
