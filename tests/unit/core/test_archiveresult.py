from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from archivebox.base_models.visibility import EVERYTHING
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.outcomes import could_not_start
from archivebox.core.archiveresult import back_off, settled_columns
from archivebox.core.crawl_control.retry import retry_failed
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.core.progress.failure_groups import FailureGroup, Failures, failures_by
from archivebox.core.statemachines import SnapshotMachine
from archivebox.hooks import run_hook
from tests.factories import plugin, row, snapshot
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")
NAME = "on_Snapshot__10_tiny.sh"


def result_of(script: str, *, name: str = NAME) -> ArchiveResult:
    plugin("tiny", {name: script})
    page = snapshot()
    (result,) = [one for one in page.create_pending_archiveresults() if one.plugin == "tiny"]
    return result


class TestOutcomes:
    """What a page's end makes of results that nobody else has judged."""

    def test_failures_are_grouped_by_the_reason_of_their_hook_and_can_be_retried(self) -> None:
        result = result_of("true\n")
        failed = {"status": "failed", "reason": "no_such_host", "output_str": "no a.example", "retry_at": None}
        arrange(ArchiveResult.objects.filter(pk=result.pk), **failed)
        result.refresh_from_db()
        assert result.sentence == "no a.example"
        assert failures_by("reason", EVERYTHING) == Failures([FailureGroup("no_such_host", 1, 1)], are_all_counted=True)
        assert retry_failed(Snapshot.objects.all(), reason="no_such_host") == 1

    def test_what_a_worker_died_over_goes_back_uncounted(self) -> None:
        result = result_of("true\n")
        lost = row(status="exited", end_reason="lost", hook_name=NAME, pwd=result.pwd)
        arrange(ArchiveResult.objects.filter(pk=result.pk), status="started", process=lost)
        result.refresh_from_db()
        result.update_from_output()
        assert (result.status, result.reason, result.attempts) == ("queued", "lost", 0)
        assert result.retry_at is not None

    @pytest.mark.parametrize(
        ("end_reason", "files", "status"),
        [("sealed", True, "succeeded"), ("sealed", False, "noresults"), ("cancelled", True, "skipped")],
    )
    def test_a_hook_that_was_told_to_stop(self, end_reason: str, files: bool, status: str) -> None:
        result = result_of("true\n")
        stopped = row(status="exited", end_reason=end_reason, exit_code=-15, hook_name=NAME, pwd=result.pwd)
        arrange(ArchiveResult.objects.filter(pk=result.pk), status="started", process=stopped)
        if files:
            Path(result.pwd).mkdir(parents=True)
            (Path(result.pwd) / "page.html").write_text("<p>")
        result.refresh_from_db()
        result.update_from_output()
        assert (result.status, result.retry_at) == (status, None)

    def test_a_background_hook_that_is_left_running_is_finalised_by_cleanup(self) -> None:
        name = "on_Snapshot__10_tiny.bg.sh"
        result = result_of("trap 'echo bye > file; exit 0' TERM; echo up; while :; do sleep 0.1; done\n", name=name)
        page = result.snapshot
        hook = run_hook(DATA_FOLDER.plugins / "tiny" / name, page.path / "tiny", {}, snapshot_id=page.pk)
        arrange(ArchiveResult.objects.filter(pk=result.pk), status="started", process=hook)
        assert page.has_running_background_hooks()
        assert not SnapshotMachine(model=page, state_field="status").is_finished()
        while not hook.stdout_file.read_text():
            pass
        page.cleanup()
        result.refresh_from_db()
        assert (result.status, list(result.output_files)) == ("succeeded", ["file"])
        assert not page.has_running_background_hooks()
        assert page.process_set.get().exit_code == 0


class TestQuerysets:
    def test_steps_and_sides(self) -> None:
        page = snapshot()
        names = [
            "on_Snapshot__10_a.sh",
            "on_Snapshot__12_b.bg.sh",
            "on_Snapshot__50_c.py",
            "on_Snapshot__93_d.py",
            "on_Snapshot_e.py",
        ]
        for name in names:
            ArchiveResult.objects.create(snapshot=page, plugin=name[-6:], hook_name=name)
        rows = page.archiveresult_set

        def of(step: int) -> list[str]:
            return sorted(str(one.hook_name) for one in rows.all().in_step(step))

        assert of(1) == names[:2]
        assert of(5) == [names[2]]
        assert of(9) == names[3:]
        assert [one.hook_name for one in rows.all().background()] == [names[1]]
        assert rows.all().foreground().count() == 4
        assert sorted(one.step for one in rows.all()) == [1, 1, 5, 9, 9]

    def test_kinds_of_status(self) -> None:
        page = snapshot()
        for status in ArchiveResult.StatusChoices.values:
            ArchiveResult.objects.create(snapshot=page, plugin=status, hook_name="h", status=status)
        rows = ArchiveResult.objects.all()
        assert {one.status for one in rows.unfinished()} == {"queued", "started"}
        assert {one.status for one in rows.final()} == {"succeeded", "noresults", "failed", "skipped"}
        assert [one.status for one in rows.in_back_off()] == ["backoff"]
        assert [one.status for one in rows.started()] == ["started"]
        assert [one.status for one in rows.succeeded()] == ["succeeded"]


def test_back_off_grows_by_four_with_jitter_to_an_hour() -> None:
    for attempts, minutes in ((1, 1), (2, 4), (3, 16), (4, 60), (9, 60)):
        waits = [back_off(attempts) for _ in range(200)]
        assert timedelta(minutes=minutes * 0.8) <= min(waits) < max(waits) <= timedelta(minutes=minutes * 1.2)


def test_what_could_not_start_counts_no_attempt() -> None:
    columns = settled_columns(could_not_start(), None, attempts=1, now=timezone.now())
    assert (columns["status"], columns["attempts"], columns["retry_at"]) == ("failed", 1, None)
