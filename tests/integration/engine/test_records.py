"""What hooks print, as rows: URLs found, tags, patches, programs, machines, and what nobody can use."""

import json

import pytest

from tests.integration.engine.driver import Collection

pytestmark = pytest.mark.database


def prints(*records: object) -> str:
    """A hook that prints these records, with the ids of its Snapshot put in for SNAPSHOT and CRAWL."""
    return (
        "import json, os\nids = json.loads(os.environ['EXTRA_CONTEXT'])\n"
        f"for line in json.loads({json.dumps(json.dumps(records))}):\n"
        "    text = json.dumps(line).replace('SNAPSHOT', ids['snapshot_id']).replace('CRAWL', ids['crawl_id'])\n"
        "    print(text, flush=True)\n"
    )


def test_urls_found_become_snapshots_within_depth_and_scope(each_mode: Collection) -> None:
    found = [
        {"type": "Snapshot", "url": "http://one.test/a", "title": "A", "tags": "red,blue"},
        {"type": "Snapshot", "url": "http://one.test/a#fragment"},
        {"type": "Snapshot", "url": "HTTP://ONE.test:80/a"},
        {"type": "Snapshot", "url": "http://one.test/"},
        {"type": "Snapshot", "url": "http://one.test/deep", "depth": 5},
        {"type": "Snapshot", "url": "ftp://one.test/file"},
        {"type": "Snapshot", "url": "http://denied.test/"},
        {"type": "Snapshot", "url": "not a url"},
        {"type": "Snapshot", "url": None},
        {"type": "Snapshot", "url": ["http://list.test/"]},
        {"type": "Snapshot"},
    ]
    each_mode.plugin("finds", {"on_Snapshot__70_finds.py": prints(*found)})
    each_mode.run(each_mode.add("http://one.test/", max_depth=1, URL_DENYLIST="denied"))
    rows = each_mode.rows("Snapshot", "url", "depth", "status", "title", "parent_snapshot__url")
    assert [(row["url"], row["depth"], row["status"]) for row in rows] == [
        ("http://one.test/", 0, "sealed"),
        ("http://one.test/a", 1, "sealed"),
    ]
    assert (rows[1]["title"], rows[1]["parent_snapshot__url"]) == ("A", "http://one.test/")
    assert {row["name"] for row in each_mode.rows("Tag", "name")} == {"red", "blue"}
    assert each_mode.rows("Tag", "name", snapshot_set__depth=0) == []


def test_a_hook_may_patch_what_is_its_own_and_no_more(each_mode: Collection) -> None:
    foreign = "00000000-0000-7000-8000-000000000000"
    patches = [
        {
            "type": "Snapshot",
            "id": "SNAPSHOT",
            "title": "  Its\\n own   title ",
            "status": "cancelled",
            "url": "x",
            "depth": 7,
        },
        {"type": "Snapshot", "id": foreign, "title": "Another's"},
        {"type": "Crawl", "id": "CRAWL", "max_depth": 99},
        {"type": "Tag", "name": "mine"},
        {"type": "ArchiveResult", "status": "succeeded", "output_str": "s", "output_json": {"n": [1]}, "attempts": 9},
    ]
    each_mode.plugin("patches", {"on_Snapshot__70_patches.py": prints(*patches)})
    each_mode.run(each_mode.add())
    row = each_mode.row("Snapshot", "title", "status", "url", "depth", "tags__name")
    assert row["title"].split() == ["Its\\n", "own", "title"] or row["title"] == "Its own title"
    assert (row["status"], row["url"], row["depth"], row["tags__name"]) == ("sealed", "http://one.test/", 0, "mine")
    assert each_mode.row("Crawl", "max_depth")["max_depth"] == 0
    result = each_mode.row("ArchiveResult", "output_json", "attempts", plugin="patches")
    assert result == {"output_json": {"n": [1]}, "attempts": 1}


def test_programs_that_a_hook_ran_are_its_children(each_mode: Collection) -> None:
    key = "02000000-0000-7000-8000-000000000001"  # UUIDv7 of 2039: retention leaves it alone
    ran = [
        {"type": "Process", "id": key, "cmd": ["wget", "-q"], "pid": 4242, "started_at": "2026-01-01T00:00:00Z"},
        {"type": "Process", "id": key, "exit_code": 8, "ended_at": "2026-01-01T00:00:05Z"},
        {"type": "Process", "cmd": ["curl"], "exit_code": 0},
    ]
    each_mode.plugin("runs", {"on_Snapshot__70_runs.py": prints(*ran)})
    each_mode.run(each_mode.add())
    (hook,) = each_mode.hooks("runs")
    children = each_mode.processes(process_type="binary", parent_id=hook["pk"])
    assert {(row["cmd"][0], row["exit_code"], row["status"]) for row in children} == {
        ("wget", 8, "exited"), ("curl", 0, "exited"),
    }  # fmt: skip


def test_a_program_that_never_reported_its_end_does_not_stay_running(each_mode: Collection) -> None:
    key = "02000000-0000-7000-8000-000000000002"
    begun = {"type": "Process", "id": key, "cmd": ["sleep"], "pid": 2_000_000}
    each_mode.plugin("runs", {"on_Snapshot__70_runs.py": prints(begun)})
    each_mode.watch()
    each_mode.wait_sealed(each_mode.add())
    assert each_mode.row("Process", "status", "end_reason", pk=key) == {"status": "exited", "end_reason": "lost"}
    each_mode.leave()


HOSTILE: list[object] = [
    {"type": "Tag", "name": "x" * 100_000},
    {"type": "Tag", "name": {"a": 1}},
    {"type": "Tag", "name": "nul\\u0000inside"},
    {"type": "Process", "pid": 10**30, "exit_code": 10**30, "cmd": "text"},
    {"type": "Process", "id": "not a uuid", "pid": "abc", "exit_code": "1e5", "started_at": 10**20, "ended_at": []},
    {"type": "Process", "id": 7, "cmd": [None, {"a": 1}], "pwd": ["x"]},
    {"type": "Snapshot", "id": "SNAPSHOT", "title": 10**40},
    {"type": "Snapshot", "id": "SNAPSHOT", "title": ["list"], "tags": 5},
    {"type": "Snapshot", "id": "SNAPSHOT", "title": None},
    {"type": "Snapshot", "url": "http://one.test/" + "x" * 100_000},
    {"type": "Snapshot", "url": "http://one.test/big", "depth": 10**30},
    {"type": "Snapshot", "url": "http://one.test/negative", "depth": -3},
    {"type": "Machine", "config": "text"},
    {"type": "Machine", "config": {"PATH": 5, "X": None}},
    {"type": "Machine"},
    {"type": "Binary", "name": None, "abspath": 5, "version": {"a": 1}},
    {"type": "Binary", "name": "x" * 10_000, "abspath": "/" + "x" * 10_000},
    {"type": "ArchiveResult", "status": "excellent", "output_str": {"a": 1}},
    {"type": "ArchiveResult", "status": ["succeeded"]},
    {"type": "ArchiveResult", "status": "noresults", "output_str": "\0\ud800", "output_json": ["\0\ud800"]},
    {"type": "Snapshot", "id": "SNAPSHOT", "title": "\0\ud800", "tags": ["\0\ud800"]},
    {"type": "Unheard", "of": 1},
]


def test_records_of_nonsense_harm_nothing_else(each_mode: Collection) -> None:
    good = {"type": "Tag", "name": "good"}
    hooks = {f"on_Snapshot__7{n % 10}_h{n}.py": prints(record, good) for n, record in enumerate(HOSTILE)}
    each_mode.plugin("hostile", hooks)
    last = {"type": "ArchiveResult", "status": "succeeded", "output_str": "end"}
    each_mode.plugin("last", {"on_Snapshot__90_last.py": prints({"type": "Tag", "name": "last"}, last)})
    each_mode.run(each_mode.add(max_depth=1))
    assert {"good", "last"} <= {row["name"] for row in each_mode.rows("Tag", "name")}
    assert each_mode.row("Snapshot", "status", depth=0)["status"] == "sealed"
    results = each_mode.rows("ArchiveResult", "status", "hook_name", plugin__in=["hostile", "last"])
    assert {row["status"] for row in results} <= {"succeeded", "noresults"}
    assert len(results) == 3 * (len(HOSTILE) + 1), "of the page and of two that were found"
    workers = each_mode.processes(worker_type="worker")
    assert [row["exit_code"] for row in workers] == [0], "no record takes a worker down"


def test_a_file_that_another_hook_has_taken_away_is_told_of_no_more(forked: Collection) -> None:
    forked.plugin("writes", {"on_Snapshot__24_writes.sh": "echo one > kept.txt\necho two > packed.txt\n"})
    forked.plugin("packs", {"on_Snapshot__92_packs.sh": "mv ../writes/packed.txt packed.gz\n"})
    forked.run(forked.add())
    results = forked.results()
    assert list(results["writes"]["output_files"]) == ["kept.txt"]
    assert list(results["packs"]["output_files"]) == ["packed.gz"]
    assert forked.row("ArchiveResult", "output_size", plugin="writes")["output_size"] == len("one\n")
