"""Hooks that print, find or leave far more than anybody wants: it is bounded, on record, and harms nobody."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from tests.integration.engine.driver import Collection

SUCCEEDED = json.dumps({"type": "ArchiveResult", "status": "succeeded", "output_str": "said early"})


def disk_of(made: Collection, stream: str) -> tuple[int, int]:
    """Length of the only log of a stream, and what it takes of the disk, in bytes."""
    (log,) = made.root.glob(f"users/*/snapshots/*/*/*/.hooks/*flood*.{stream}.log")
    status = log.stat()
    return status.st_size, status.st_blocks * 512


@pytest.mark.default
def test_errors_are_cut_on_the_disk_as_output_is(each_mode: Collection) -> None:
    each_mode.plugin("flood", {"on_Snapshot__10_flood.sh": "yes complaint | head -c 60000000 >&2\necho the end >&2\n"})
    each_mode.settings["HOOK_OUTPUT_MAX"] = "2000000"
    each_mode.run(each_mode.add())
    (run,) = each_mode.hooks("flood")
    assert run["output_cut"]
    assert run["stderr"].endswith("the end\n")
    length, disk = disk_of(each_mode, "stderr")
    assert length == 60_000_008
    assert disk < 3_000_000


@pytest.mark.parametrize(("stream", "descriptor"), [("stdout", 1), ("stderr", 2)])
def test_what_programs_write_after_the_end_of_their_hook_is_cut_too(
    forked: Collection, stream: str, descriptor: int
) -> None:
    writes = f"import os\nif os.fork() == 0:\n    os.setsid()\n    os.write({descriptor}, b'y' * 60_000_000)\n"
    done = "    open(os.environ['DATA_DIR'] + '/ledger', 'w').write('written')\n"
    forked.plugin("flood", {"on_Snapshot__10_flood.py": f"{writes}{done}"})
    forked.plugin("waits", {"on_Snapshot__20_waits.sh": 'until [ -e "$DATA_DIR/ledger" ]; do sleep 0.05; done\n'})
    forked.settings["HOOK_OUTPUT_MAX"] = "2000000"
    forked.run(forked.add())
    length, disk = disk_of(forked, stream)
    assert length == 60_000_000
    assert disk < 3_000_000


def test_what_programs_of_a_crawls_hook_write_after_its_end_is_cut_at_its_seal(forked: Collection) -> None:
    writes = "import os\nif os.fork() == 0:\n    os.setsid()\n    os.write(2, b'y' * 60_000_000)\n"
    done = "    open(os.environ['DATA_DIR'] + '/ledger', 'w').write('written')\n"
    forked.plugin("flood", {"on_Crawl__10_flood.py": f"{writes}{done}"})
    forked.plugin("waits", {"on_Snapshot__20_waits.sh": 'until [ -e "$DATA_DIR/ledger" ]; do sleep 0.05; done\n'})
    forked.settings["HOOK_OUTPUT_MAX"] = "2000000"
    forked.run(forked.add())
    (log,) = forked.root.glob("users/*/crawls/*/*/.hooks/*flood*.stderr.log")
    status = log.stat()
    assert status.st_size == 60_000_000
    assert status.st_blocks * 512 < 3_000_000


@pytest.mark.slow
@pytest.mark.parametrize(("stream", "descriptor"), [("stdout", 1), ("stderr", 2)])
def test_ten_gigabytes_on_either_stream(forked: Collection, stream: str, descriptor: int) -> None:
    writes = f"import os\nfor _ in range(10_000):\n    os.write({descriptor}, b'y\\n' * 500_000)\n"
    forked.plugin("flood", {"on_Snapshot__10_flood.py": f"{writes}os.write(1, b'{SUCCEEDED}\\n')\n"})
    forked.run(forked.add(FLOOD_TIMEOUT=600), seconds=600)
    result = forked.results()["flood"]
    assert (result["status"], result["output_str"]) == ("succeeded", "said early")
    length, disk = disk_of(forked, stream)
    assert length >= 10_000_000_000
    assert disk < 40_000_000
    (worker,) = {row["pk"]: row["exit_code"] for row in forked.processes(worker_type="worker")}.values() or [None]
    assert worker == 0


def test_what_a_flooding_hook_declared_survives_its_worker(forked: Collection) -> None:
    """It stands in a part of the log that was given back when the next worker takes the hook over."""
    fill = "yes | head -c 6000000\n"
    waits = 'until [ -e "$DATA_DIR/killed" ]; do sleep 0.05; done\n'
    forked.plugin("flood", {"on_Snapshot__10_flood.sh": f"{fill}echo '{SUCCEEDED}'\n{fill}{waits}"})
    forked.settings["HOOK_OUTPUT_MAX"] = "1000000"
    forked.add()
    forked.watch()
    forked.wait("the flood given back", lambda: forked.rows("Process", "pk", stdout_offset__gte=12_000_000))
    (worker,) = forked.processes(worker_type="worker", status="running")
    os.kill(worker["pid"], signal.SIGKILL)
    forked.wait("a death", lambda: forked.processes(worker_type="worker", status="exited"))
    (forked.root / "killed").touch()
    forked.wait_sealed()
    forked.leave()
    result = forked.results()["flood"]
    assert (result["status"], result["output_str"]) == ("succeeded", "said early")


def test_every_hook_has_its_command_and_its_pid_beside_its_logs(each_mode: Collection) -> None:
    body = (
        'own="$SNAP_DIR/.hooks/${0##*/}.$ARCHIVEBOX_PROCESS_ID"\n'
        'until [ -s "$own.pid" ]; do sleep 0.05; done\n'
        '[ "$(cat "$own.pid")" = $$ ] && echo "$own" > it-is-me.txt\n'
    )
    each_mode.plugin("fore", {"on_Snapshot__10_fore.sh": body})
    each_mode.plugin("back", {"on_Snapshot__11_back.finite.bg.sh": body})
    each_mode.run(each_mode.add())
    for name in ("fore", "back"):
        (said,) = each_mode.root.glob(f"users/*/snapshots/*/*/*/{name}/it-is-me.txt")
        own = Path(said.read_text().strip())
        runs = map(json.loads, (own.parent / "runs.jsonl").read_text().splitlines())  # once the page is sealed
        lines = next(run["cmd.sh"] for run in runs if run["run"] == own.name).splitlines()
        assert lines[:2] == ["#!/bin/sh", f"cd {said.parent}"]
        assert lines[2].startswith("/bin/bash ")
        assert "--url=http://one.test/" in lines[2]


def test_what_one_page_may_bring_is_limited_and_its_result_says_so(forked: Collection) -> None:
    links = '{"type": "Snapshot", "url": "http://one.test/%d"}\\n'
    tags = '{"type": "Tag", "name": "tag %g"}\\n'
    only_once = 'case "$*" in *depth=0*) ;; *) exit 0;; esac\n'
    forked.plugin(
        "finds", {"on_Snapshot__10_finds.sh": f"{only_once}for n in $(seq 30); do printf '{links}' $n; done\n"}
    )
    forked.plugin("tags", {"on_Snapshot__11_tags.sh": f"{only_once}seq -f '{tags[:-2]}' 5000\n"})
    forked.run(forked.add(max_depth=1, MAX_URLS_PER_PAGE=7))
    assert len(forked.rows("Snapshot", "pk", depth=1)) == 7
    assert len(forked.rows("Tag", "pk")) == 1_000
    first = forked.row("Snapshot", "pk", depth=0)["pk"]
    reasons = {name: (row["status"], row["reason"]) for name, row in forked.results(snapshot_id=first).items()}
    assert reasons == {
        "finds": ("noresults", "too_much_found:7 links"),
        "tags": ("noresults", "too_much_found:1,000 tags"),
    }


RECORDS = {
    "tags": '{"type": "Tag", "name": "tag %08g"}',
    "links": '{"type": "Snapshot", "url": "http://one.test/%08g"}',
    "braces": "{ %08g",
    "results": '{"type": "ArchiveResult", "status": "succeeded", "output_str": "%08g"}',
}


@pytest.mark.parametrize(
    ("line", "limits"),
    [
        pytest.param(RECORDS["links"], {"MAX_URLS_PER_PAGE": 10}, id="links-low"),
        *(pytest.param(line, {}, id=kind) for kind, line in RECORDS.items() if kind != "links"),
    ],
)
def test_a_flood_of_records_is_its_hooks_failure_alone(forked: Collection, line: str, limits: dict[str, int]) -> None:
    """Two hundred megabytes: the first of them are kept, the page goes on, and the memory of its worker stays small."""
    forked.plugin("flood", {"on_Snapshot__10_flood.sh": f"seq -f '{line}' 10000000 | head -c 200000000\n"})
    growth = growth_by(forked, **limits)
    page = forked.row("Snapshot", "pk", url="http://one.test/")["pk"]
    results = {name: (row["status"], row["reason"]) for name, row in forked.results(snapshot_id=page).items()}
    assert results["after"] == ("succeeded", "")
    assert results["flood"][0] == "failed"
    assert results["flood"][1].startswith("too_many_records:")
    assert growth < 20_000_000
    assert len(forked.rows("Tag", "pk")) == (1_000 if "Tag" in line else 0)


@pytest.mark.slow
def test_a_flood_of_links_that_are_followed_does_not_fill_the_memory(forked: Collection) -> None:
    """Their rows fill the page cache of SQLite, which is memory of the worker; these are several times as large."""
    links = 80_000
    only_once = 'case "$*" in *depth=0*) ;; *) exit 0;; esac\n'
    flood = f"seq -f '{RECORDS['links']}' 10000000 | head -c 60000000\n"
    forked.plugin("flood", {"on_Snapshot__10_flood.sh": f"{only_once}{flood}"})
    assert growth_by(forked, max_depth=1, MAX_URLS_PER_PAGE=links) < 20_000_000
    assert len(forked.rows("Snapshot", "pk", depth=1)) == links


def growth_by(made: Collection, **wanted: int) -> int:
    """Bytes by which a page of these settings makes its worker grow at most, until it is sealed."""
    made.plugin("after", {"on_Snapshot__20_after.sh": "echo x > file\n"})
    made.watch()
    made.wait_sealed(made.add("http://zero.test/", PLUGINS=["after"]))
    (worker,) = made.processes(worker_type="worker", status="running")
    before = memory_of(worker["pid"])
    made.add(**wanted)
    peak = before

    def is_sealed() -> bool:
        nonlocal peak
        peak = max(peak, memory_of(worker["pid"]))
        return bool(made.rows("Snapshot", "pk", url="http://one.test/", status="sealed"))

    made.wait("the page sealed", is_sealed, seconds=600)
    made.leave()
    return peak - before


def memory_of(pid: int) -> int:
    """Bytes that a process has for itself."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"RssAnon:\s+(\d+)", status)[0]) * 1024


def test_a_file_whose_name_is_no_text_is_listed_all_the_same(forked: Collection) -> None:
    forked.plugin("odd", {"on_Snapshot__10_odd.sh": "echo x > \"$(printf 'caf\\351.txt')\"\n"})
    forked.run(forked.add())
    result = forked.results()["odd"]
    assert result["status"] == "succeeded"
    assert list(result["output_files"]) == ["caf\\xe9.txt"]


def test_of_a_crowd_of_files_the_first_are_named_and_all_are_counted(forked: Collection) -> None:
    crowd = (
        'mkdir deep; for n in $(seq 60); do seq -f "deep/$n.%g.txt" 200; done | xargs touch; printf four > top.html\n'
    )
    forked.plugin("crowd", {"on_Snapshot__10_crowd.sh": crowd})
    forked.plugin("after", {"on_Snapshot__20_after.sh": "ls ../crowd/deep | wc -l > count\n"})
    forked.run(forked.add())
    columns = ("status", "output_files", "output_size", "output_mimetypes")
    result = forked.row("ArchiveResult", *columns, plugin="crowd")
    assert (result["status"], len(result["output_files"]), result["output_size"]) == ("succeeded", 10_000, 4)
    assert result["output_files"]["top.html"] == {"size": 4, "mimetype": "text/html"}
    assert result["output_mimetypes"] == "text/html,text/plain"
    assert forked.results()["after"]["status"] == "succeeded"
