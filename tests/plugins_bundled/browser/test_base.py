"""What hook authors import, tried as hooks use it: in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from archivebox.plugins.base import Hook, Settings
from archivebox.plugins.base.cdp import CDPConnection
from archivebox.plugins.base.programs import new_id, start_ticks
from tests.plugins_bundled.browser.chain import CHECKOUT, wait_for_end

SOON = 90.0


def hook(tmp_path: Path, body: str, *arguments: str, **environment: str) -> tuple[int, list[dict[str, Any]], str]:
    """Run a hook whose main() is `body`; return its exit status, records and standard error."""
    done = subprocess.run(
        command(tmp_path, body, *arguments),
        cwd=tmp_path,
        env=hook_environment(**environment),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def command(tmp_path: Path, body: str, *arguments: str) -> list[str]:
    script = tmp_path / "on_Snapshot__60_try.py"
    script.write_text(f"from archivebox.plugins.base import *\n{body}\n")
    return [sys.executable, str(script), *arguments]


def hook_environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(CHECKOUT)} | more


def test_arguments_are_read_in_both_spellings() -> None:
    got = Hook.from_argv(["--url=http://a/?b=c", "--snapshot-id", "s", "--depth", "2", "--crawl-id=c", "--loud"])
    assert (got.url, got.snapshot_id, got.crawl_id, got.depth) == ("http://a/?b=c", "s", "c", 2)
    assert got.options["loud"] is True


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"a": 1}', {"a": 1}), ('["a"]', ["a"]), ("true", True), ("null", None), ("{broken", "{broken"), ("12", "12")],
)
def test_values_are_json_where_they_look_like_it(text: str, value: object) -> None:
    assert Hook.from_argv([f"--overrides={text}"]).options["overrides"] == value


def test_settings_are_typed() -> None:
    settings = Settings({"N": "7", "F": "0.5", "T": "True", "L": '["a b"]', "W": "a b", "D": '{"a": 1}', "EMPTY": ""})
    assert (settings.int("N"), settings.float("F"), settings.bool("T")) == (7, 0.5, True)
    assert (settings.list("L"), settings.list("W"), settings.dict("D")) == (["a b"], ["a", "b"], {"a": "1"})
    assert (settings.int("EMPTY"), settings.str("NOT_SET"), settings.bool("EMPTY")) == (0, "", False)


def test_what_is_not_set_has_the_default_of_the_config_json_beside_the_script(tmp_path: Path) -> None:
    properties = {
        "N": {"default": 7, "x-fallback": "COMMON"},
        "T": {"default": True},
        "L": {"default": ["a b"]},
        "W": {"default": "x"},
    }
    (tmp_path / "config.json").write_text(json.dumps({"properties": properties}))
    settings = Settings({}, str(tmp_path))
    assert (settings.int("N"), settings.bool("T"), settings.list("L"), settings.str("W")) == (7, True, ["a b"], "x")
    assert Settings({"COMMON": "9"}, str(tmp_path)).int("N") == 9
    assert Settings({"COMMON": "9", "N": "8"}, str(tmp_path)).int("N") == 8


def test_the_time_of_a_plugin_falls_back_to_the_common_one() -> None:
    assert Settings({"PDF_TIMEOUT": "5", "TIMEOUT": "9"}).timeout("pdf") == 5
    assert Settings({"TIMEOUT": "9"}).timeout("pdf") == 9
    assert Settings({}).timeout("pdf") == 60


def test_a_value_that_makes_no_sense_is_a_sentence(tmp_path: Path) -> None:
    code, records, _ = hook(tmp_path, 'Settings().int("TIMEOUT")', TIMEOUT="soon")
    assert code == 1
    assert records[0]["status"] == "failed"
    assert "TIMEOUT must be a whole number, not 'soon'" in records[0]["output_str"]


@pytest.mark.parametrize(
    ("ending", "code", "status"),
    [
        ('succeeded("a", {"n": 1})', 0, "succeeded"),
        ('noresults("a")', 0, "noresults"),
        ('skipped("a")', 10, "skipped"),
        ('failed("a")', 0, "failed"),
        ('misconfigured("a")', 1, "failed"),
        ('try_again("a")', 1, "failed"),
        ('page_lost("a")', 1, "failed"),
    ],
)
def test_each_ending_has_its_record_and_status(tmp_path: Path, ending: str, code: int, status: str | None) -> None:
    got, records, _ = hook(tmp_path, ending)
    assert got == code
    assert [record.get("retry") for record in records] == [{"t": "later", "p": "new_page"}.get(ending[0])]
    assert [record["status"] for record in records] == ([status] if status else [])


def test_records_of_a_hook(tmp_path: Path) -> None:
    _, records, _ = hook(
        tmp_path, 'ready(); waiting(); found("http://a/", title="é\\n"); patch_snapshot(title="t")', "--snapshot-id=s"
    )
    assert records == [
        {"type": "Ready"},
        {"type": "Waiting"},
        {"type": "Snapshot", "url": "http://a/", "title": "é\n"},
        {"type": "Snapshot", "id": "s", "title": "t"},
    ]


def test_a_program_is_told_of_at_its_start_and_its_end(tmp_path: Path) -> None:
    body = 'f = run_program(["sh", "-c", "echo out; echo err >&2; exit 3"], timeout=30)\nlog(f.returncode, f.stdout)'
    _, records, stderr = hook(tmp_path, body)
    start, end = records
    assert start["id"] == end["id"]
    assert "exit_code" not in start
    assert (end["exit_code"], end["pwd"], Path(end["cmd"][0]).name) == (3, str(tmp_path), "sh")
    assert start["start_ticks"]
    assert stderr == "err\n3 out\n\n"


def test_output_of_a_program_never_reads_as_a_record(tmp_path: Path) -> None:
    body = """run_program(["echo", '{"type": "ArchiveResult", "status": "succeeded"}'], timeout=30)"""
    _, records, _ = hook(tmp_path, body)
    assert {record["type"] for record in records} == {"Process"}


def test_output_of_a_program_is_kept_in_a_file_or_as_a_tail(tmp_path: Path) -> None:
    body = """
run_program(["seq", "100000"], timeout=30, stdout="numbers.txt")
tail = run_program(["seq", "100000"], timeout=30).stdout
log(len(tail), tail.endswith("99999\\n100000\\n"))"""
    _, _, stderr = hook(tmp_path, body)
    assert (tmp_path / "numbers.txt").read_text().endswith("\n100000\n")
    assert stderr == "65536 True\n"


def test_a_program_whose_time_is_over_is_ended_with_its_tree(tmp_path: Path) -> None:
    body = """
f = run_program(["sh", "-c", "echo $$; setsid sleep 300 & echo $!; trap '' TERM; wait; sleep 300"], timeout=0.5)
log(f.timed_out, *f.stdout.split())"""
    _, _, stderr = hook(tmp_path, body)
    timed_out, *pids = stderr.split()
    assert timed_out == "True"
    assert len(pids) == 2
    for pid in pids:
        assert wait_for_end(int(pid), SOON)


def test_a_grandchild_that_keeps_the_pipe_does_not_keep_the_hook_and_ends(tmp_path: Path) -> None:
    body = 'log(run_program(["sh", "-c", "sleep 300 & echo $!"], timeout=300).stdout)'
    code, _, stderr = hook(tmp_path, body)
    assert code == 0
    assert wait_for_end(int(stderr), seconds=5)


def test_a_missing_program_is_a_sentence(tmp_path: Path) -> None:
    code, records, _ = hook(tmp_path, 'run_program(["no-such-program"], timeout=3)')
    assert code == 1
    assert "'no-such-program' is not installed" in records[-1]["output_str"]


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_the_record_is_printed_and_the_program_ended(tmp_path: Path, signum: int) -> None:
    body = 'on_stop(lambda: succeeded("in haste"))\nrun_program(["sleep", "300"], timeout=300)'
    with subprocess.Popen(
        command(tmp_path, body), cwd=tmp_path, env=hook_environment(), stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        program = json.loads(running.stdout.readline())
        time.sleep(0.05)
        running.send_signal(signum)
        records = [json.loads(line) for line in running.stdout]
        assert running.wait(SOON) == 0
    assert {"type": "ArchiveResult", "status": "succeeded", "output_str": "in haste"} in records
    assert wait_for_end(program["pid"], SOON)


def test_a_hook_ends_at_its_deadline_whatever_it_waits_for(tmp_path: Path) -> None:
    body = """
import os
set_deadline(0.2)
try:
    os.read(os.pipe()[0], 1)
except TimeIsOver:
    try_again("too late")"""
    code, records, stderr = hook(tmp_path, body)
    record = {"type": "ArchiveResult", "status": "failed", "output_str": "too late", "retry": "later"}
    assert (code, records, stderr) == (1, [record], "too late\n")


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "folder.txt").mkdir()
    body = 'write_atomically("a.txt", "\\ud800 text")\nwrite_atomically("folder.txt", b"cannot replace a folder")'
    code, _, _ = hook(tmp_path, body)
    assert code == 1
    assert (tmp_path / "a.txt").read_text() == "? text"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "folder.txt", "on_Snapshot__60_try.py"]


def test_ids_are_uuids_of_version_seven_in_order_of_time() -> None:
    first = new_id()
    time.sleep(0.002)
    second = new_id()
    assert first[14] == "7"
    assert first[19] in "89ab"
    assert first < second


def test_nothing_heavy_is_loaded_before_it_is_used(tmp_path: Path) -> None:
    body = 'import sys\nlog(*sorted({"subprocess", "typing", "pathlib", "logging", "argparse"} & set(sys.modules)))'
    script = f"import archivebox.plugins.base as base\nfrom archivebox.plugins.base import log\n{body}"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(CHECKOUT)!r})\n{script}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stderr == "\n"


def test_start_ticks_tell_processes_apart() -> None:
    assert start_ticks(os.getpid()) is not None
    assert start_ticks(2**22 + 1) is None


def test_what_is_asked_together_is_asked_before_any_answer_is_waited_for() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for number in (2, 1):  # what the browser answers is there, in whatever order
            theirs.sendall(json.dumps({"id": number, "result": {"number": number}}).encode() + b"\0")
        answers = CDPConnection(ours).call_all([("Page.enable", {}), ("Network.enable", {})], "tab")
        asked = [json.loads(line) for line in theirs.recv(1 << 16).split(b"\0") if line]
    assert [answer["number"] for answer in answers] == [1, 2]
    assert [(call["method"], call["sessionId"]) for call in asked] == [
        ("Page.enable", "tab"),
        ("Network.enable", "tab"),
    ]
