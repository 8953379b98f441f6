from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from archivebox.base_models.transitions import TransitionRefusedError
from archivebox.base_models.visibility import EVERYTHING
from archivebox.contract.outcomes import could_not_start
from archivebox.core.archiveresult import back_off, settled_columns
from archivebox.core.crawl_control.retry import retry_failed
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.core.progress.failure_groups import FailureGroup, Failures, failures_by
from archivebox.core.statemachines import SnapshotMachine
from archivebox.lib.jsonl import JSON
from archivebox.machine.models import Process
from tests.factories import plugin, row, snapshot
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")
NAME = "on_Snapshot__10_tiny.sh"
SAYS = '#!/bin/sh\necho \'{"type": "ArchiveResult", "status": "%s", "output_str": "said"}\'\n'


def result_of(script: str, *, name: str = NAME, url: str = "https://example.com/", max_depth: int = 0) -> ArchiveResult:
    plugin("tiny", {name: script})
    page = snapshot(url, max_depth=max_depth)
    (result,) = [one for one in page.create_pending_archiveresults() if one.plugin == "tiny"]
    return result


def ran(script: str, **more: str) -> ArchiveResult:
    result = result_of(script, **more)  # type: ignore[arg-type]
    result.run()
    return ArchiveResult.objects.get(pk=result.pk)


class TestOutcomes:
    """The table of the contract with hooks that really run; retry_at is set exactly where it is tried again."""

    @pytest.mark.parametrize(
        ("script", "status", "reason", "again"),
        [
            (SAYS % "succeeded", "succeeded", "", False),
            (SAYS % "noresults", "noresults", "", False),
            (SAYS % "skipped", "skipped", "not_applicable", False),
            (SAYS % "failed", "failed", "declared", False),
            ("true\n", "noresults", "", False),
            ("echo x > file.txt\n", "succeeded", "", False),
            ("exit 10\n", "skipped", "not_applicable", False),
            (SAYS % "failed" + "exit 1\n", "failed", "declared", False),
            ("exit 1\n", "backoff", "crashed", True),
            (SAYS % "succeeded" + "exit 1\n", "backoff", "crashed", True),
            ("kill -9 $$\n", "backoff", "signalled", True),
        ],
    )
    def test_each_row(self, script: str, status: str, reason: str, again: bool) -> None:
        result = ran(script)
        assert (result.status, result.reason) == (status, reason)
        assert (result.retry_at is not None) == again
        assert result.start_ts is not None
        assert result.end_ts is not None
        assert result.attempts == 1
        assert result.process is not None
        assert result.process.status == "exited"

    def test_failures_are_grouped_by_the_reason_of_their_hook_and_can_be_retried(self) -> None:
        says = '{"type": "ArchiveResult", "status": "failed", "output_str": "no a.example", "reason": "%s"}'
        result = ran(f"echo '{says % 'no_such_host'}'\n")
        assert (result.status, result.reason, result.sentence) == ("failed", "no_such_host", "no a.example")
        assert failures_by("reason", EVERYTHING) == Failures([FailureGroup("no_such_host", 1, 1)], are_all_counted=True)
        assert retry_failed(Snapshot.objects.all(), reason="no_such_host") == 1

    def test_a_hook_says_no_reason_that_is_the_engines(self) -> None:
        says = '{"type": "ArchiveResult", "status": "failed", "output_str": "x", "reason": "worker_lost"}'
        assert ran(f"echo '{says}'\n").reason == "declared"

    def test_a_timeout_is_tried_again(self) -> None:
        result = result_of("sleep 60\n")
        Snapshot.objects.filter(pk=result.snapshot_id).update(config={"TIMEOUT": 1})
        result.run()
        result.refresh_from_db()
        assert (result.status, result.reason) == ("backoff", "timeout")
        assert result.process is not None
        assert result.process.end_reason == "timeout"

    def test_what_a_hook_says_before_its_timeout_counts(self) -> None:
        result = result_of(SAYS % "succeeded" + "sleep 60\n")
        Snapshot.objects.filter(pk=result.snapshot_id).update(config={"TIMEOUT": 1})
        result.run()
        assert (result.status, result.reason, result.output_str) == ("succeeded", "", "said")

    def test_attempts_are_limited(self) -> None:
        result = result_of("exit 1\n")
        for attempt in (1, 2, 3):
            result.run()
            assert result.attempts == attempt
        assert (result.status, result.retry_at) == ("failed", None)
        with pytest.raises(TransitionRefusedError):
            result.run()

    def test_each_attempt_stays_reachable(self) -> None:
        result = result_of("exit 1\n")
        result.run()
        first = result.process
        result.run()
        assert result.process != first
        assert result.snapshot.process_set.count() == 2

    def test_a_hook_without_files_keeps_its_row(self) -> None:
        result = ran("true\n")
        assert (result.output_files, result.output_size) == ({}, 0)

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


class TestRun:
    def test_the_process_is_on_record_with_its_work(self) -> None:
        result = ran("pwd; echo $SNAP_DIR; for word; do echo $word; done\n", url="https://example.com/a%20b?c=d")
        hook = result.process
        assert hook is not None
        assert (hook.process_type, hook.plugin, hook.hook_name) == ("hook", "tiny", NAME)
        assert (hook.snapshot_id, hook.crawl_id) == (result.snapshot_id, result.snapshot.crawl_id)
        assert hook.parent == Process.current()
        words = hook.stdout.split("\n")
        assert words[0] == result.pwd == str(result.snapshot.path / "tiny")
        assert words[1] == str(result.snapshot.path)
        assert "--url=https://example.com/a%20b?c=d" in words
        assert f"--snapshot-id={result.snapshot_id}" in words
        assert f"--crawl-id={result.snapshot.crawl_id}" in words
        assert "--depth=0" in words

    def test_settings_reach_it_by_layers(self) -> None:
        schema: dict[str, JSON] = {"TINY_COLOUR": {"type": "string", "default": "red"}}
        plugin("tiny", {NAME: "echo $TINY_COLOUR $TIMEOUT\n"}, {"type": "object", "properties": schema})
        page = snapshot(config={"TINY_COLOUR": "green", "TIMEOUT": 20})
        Snapshot.objects.filter(pk=page.pk).update(config={"TINY_COLOUR": "blue"})
        page.refresh_from_db()
        (result,) = [one for one in page.create_pending_archiveresults() if one.plugin == "tiny"]
        result.run()
        assert result.process is not None
        assert result.process.stdout.split() == ["blue", "20"]
        assert result.process.timeout == 20
        assert [layer.name for layer in page.layers()] == [
            "file",
            "machine",
            "environment",
            "persona",
            "crawl",
            "snapshot",
        ]

    def test_without_a_hook_name_all_hooks_of_the_plugin_run(self) -> None:
        scripts = {
            "on_Snapshot__10_first.sh": "echo 1 > first\n",
            "on_Snapshot__20_second.sh": "cat first > second; exit 3\n",
            "on_Snapshot__30_third.sh": SAYS % "succeeded",
            "on_Snapshot__40_waits.bg.sh": "trap 'exit 0' TERM; while :; do sleep 0.1; done\n",
        }
        plugin("tiny", scripts)
        page = snapshot()
        imported = ArchiveResult.objects.create(
            snapshot=page, plugin="tiny", hook_name=None, pwd=str(page.path / "tiny")
        )
        imported.run()
        ran = list(page.process_set.order_by("id"))
        assert [process.hook_name for process in ran] == sorted(scripts)
        assert [process.exit_code for process in ran[:3]] == [0, 3, 0]
        assert (ran[3].status, ran[3].end_reason) == ("exited", "sealed")
        assert (imported.status, imported.reason) == ("backoff", "crashed")  # the worst decides
        assert set(imported.output_files) == {"first", "second"}

    def test_a_plugin_that_is_gone(self) -> None:
        page = snapshot()
        imported = ArchiveResult.objects.create(snapshot=page, plugin="no_such", hook_name=None)
        imported.run()
        assert (imported.status, imported.reason, imported.retry_at) == ("failed", "missing_plugin", None)

    def test_a_hook_that_cannot_be_started(self) -> None:
        result = result_of("true\n")
        result.pwd = "/proc/nowhere/tiny"
        result.save()
        with pytest.raises(OSError, match="nowhere"):
            result.run()
        result.refresh_from_db()
        assert (result.status, result.reason, result.retry_at) == ("failed", "could_not_start", None)

    def test_a_background_hook_is_left_running_and_finalised_by_cleanup(self) -> None:
        name = "on_Snapshot__10_tiny.bg.sh"
        result = result_of("trap 'echo bye > file; exit 0' TERM; echo up; while :; do sleep 0.1; done\n", name=name)
        result.run()
        page = result.snapshot
        assert ArchiveResult.objects.get(pk=result.pk).status == "started"
        assert page.has_running_background_hooks()
        assert not SnapshotMachine(model=page, state_field="status").is_finished()
        hook = page.process_set.get()
        while not hook.stdout_file.read_text():
            pass
        page.cleanup()
        result.refresh_from_db()
        assert (result.status, list(result.output_files)) == ("succeeded", ["file"])
        assert not page.has_running_background_hooks()
        assert page.process_set.get().exit_code == 0


class TestRecords:
    def print_records(self, *records: dict[str, JSON], max_depth: int = 1) -> ArchiveResult:
        lines = "\n".join(json.dumps(record) for record in records)
        result = result_of(f"cat <<'END'\nlog text\n{lines}\nEND\n", max_depth=max_depth)
        result.run()
        return result

    def test_urls_found_go_through_the_door(self) -> None:
        result = self.print_records(
            {"type": "Snapshot", "url": "https://example.com/next", "title": "Next", "tags": "a,b"},
            {"type": "Snapshot", "url": "javascript:alert(1)"},
            {"type": "Snapshot", "url": "https://example.com/deep", "depth": 2},
        )
        children = list(Snapshot.objects.exclude(pk=result.snapshot_id))
        assert [child.url for child in children] == ["https://example.com/next"]
        assert (children[0].depth, children[0].title, children[0].status) == (1, "Next", "queued")
        assert children[0].parent_snapshot == result.snapshot
        assert children[0].created_by == result.snapshot.created_by
        assert sorted(tag.name for tag in children[0].tags.all()) == ["a", "b"]

    def test_tags_title_and_programs(self) -> None:
        plugin("x", {})
        result = result_of("true\n")
        key = str(result.snapshot_id)
        records: list[dict[str, JSON]] = [
            {"type": "Tag", "name": "News"},
            {"type": "Snapshot", "id": key, "title": "  A\n title ", "url": "https://evil.example/"},
            {"type": "Snapshot", "id": "00000000-0000-0000-0000-000000000000", "title": "of another"},
            {"type": "Process", "cmd": ["wget", "x"], "exit_code": 0, "pid": 77},
            {"type": "Nonsense", "a": 1},
            {"type": "ArchiveResult", "status": "succeeded", "output_str": "a.html", "output_json": {"n": [1]}},
        ]
        lines = "\n".join(json.dumps(record) for record in records)
        plugin("tiny", {NAME: f"cat <<'END'\n{lines}\nEND\n"})
        result.run()
        page = Snapshot.objects.get(pk=key)
        assert (page.title, page.url) == ("A title", "https://example.com/")
        assert [tag.name for tag in page.tags.all()] == ["News"]
        assert result.process is not None
        (child,) = result.process.children.all()
        assert (child.cmd, child.exit_code, child.snapshot_id) == (["wget", "x"], 0, page.pk)
        assert (result.output_str, result.output_json) == ("a.html", {"n": [1]})

    def test_output_of_all_kinds_is_kept(self) -> None:
        result = ran("mkdir -p sub; printf '<p>' > page.html; head -c 1000 /dev/zero > sub/data.bin\n")
        assert result.output_files["page.html"] == {"size": 3, "mimetype": "text/html"}
        assert result.output_size == 1003
        assert "text/html" in result.output_mimetypes.split(",")


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

    def test_words_for_people(self) -> None:
        result = ArchiveResult(snapshot=snapshot(), plugin="wget", reason="missing_binary:wget")
        assert "wget" in result.sentence
        assert result.action
        assert ArchiveResult(plugin="x").sentence == ""
        assert str(result) == "wget: queued"
        assert result.output_dir == f"{result.snapshot.output_dir}/wget"
        assert result.created_by == result.snapshot.created_by


def test_back_off_grows_by_four_with_jitter_to_an_hour() -> None:
    for attempts, minutes in ((1, 1), (2, 4), (3, 16), (4, 60), (9, 60)):
        waits = [back_off(attempts) for _ in range(200)]
        assert timedelta(minutes=minutes * 0.8) <= min(waits) < max(waits) <= timedelta(minutes=minutes * 1.2)


def test_what_could_not_start_counts_no_attempt() -> None:
    columns = settled_columns(could_not_start(), None, attempts=1, now=timezone.now())
    assert (columns["status"], columns["attempts"], columns["retry_at"]) == ("failed", 1, None)


def test_python_and_executable_hooks_run_too() -> None:
    result = ran("import sys; print(sys.executable)\n", name="on_Snapshot__10_tiny.py")
    assert result.process is not None
    assert result.process.stdout.strip() == sys.executable
