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


@pytest.mark.default
def test_urls_found_become_snapshots_within_depth_and_scope(forked: Collection) -> None:
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
    forked.plugin("finds", {"on_Snapshot__70_finds.py": prints(*found)})
    forked.run(forked.add("http://one.test/", max_depth=1, URL_DENYLIST="denied"))
    rows = forked.rows("Snapshot", "url", "depth", "status", "title", "parent_snapshot__url")
    assert [(row["url"], row["depth"], row["status"]) for row in rows] == [
        ("http://one.test/", 0, "sealed"),
        ("http://one.test/a", 1, "sealed"),
    ]
    assert (rows[1]["title"], rows[1]["parent_snapshot__url"]) == ("A", "http://one.test/")
    assert {row["name"] for row in forked.rows("Tag", "name")} == {"red", "blue"}
    assert forked.rows("Tag", "name", snapshot_set__depth=0) == []


@pytest.mark.default
def test_a_hook_may_patch_what_is_its_own_and_no_more(forked: Collection) -> None:
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
    forked.plugin("patches", {"on_Snapshot__70_patches.py": prints(*patches)})
    forked.run(forked.add())
    row = forked.row("Snapshot", "title", "status", "url", "depth", "tags__name")
    assert row["title"].split() == ["Its\\n", "own", "title"] or row["title"] == "Its own title"
    assert (row["status"], row["url"], row["depth"], row["tags__name"]) == ("sealed", "http://one.test/", 0, "mine")
    assert forked.row("Crawl", "max_depth")["max_depth"] == 0
    result = forked.row("ArchiveResult", "output_json", "attempts", plugin="patches")
    assert result == {"output_json": {"n": [1]}, "attempts": 1}


@pytest.mark.default
def test_programs_that_a_hook_ran_are_its_children(forked: Collection) -> None:
    key = "02000000-0000-7000-8000-000000000001"  # UUIDv7 of 2039: retention leaves it alone
    ran = [
        {"type": "Process", "id": key, "cmd": ["wget", "-q"], "pid": 4242, "started_at": "2026-01-01T00:00:00Z"},
        {"type": "Process", "id": key, "exit_code": 8, "ended_at": "2026-01-01T00:00:05Z"},
        {"type": "Process", "cmd": ["curl"], "exit_code": 0},
    ]
    forked.plugin("runs", {"on_Snapshot__70_runs.py": prints(*ran)})
    forked.run(forked.add())
    (hook,) = forked.hooks("runs")
    children = forked.processes(process_type="binary", parent_id=hook["pk"])
    assert {(row["cmd"][0], row["exit_code"], row["status"]) for row in children} == {
        ("wget", 8, "exited"), ("curl", 0, "exited"),
    }  # fmt: skip


def test_a_program_that_never_reported_its_end_does_not_stay_running(forked: Collection) -> None:
    key = "02000000-0000-7000-8000-000000000002"
    begun = {"type": "Process", "id": key, "cmd": ["sleep"], "pid": 2_000_000}
    forked.plugin("runs", {"on_Snapshot__70_runs.py": prints(begun)})
    forked.watch()
    forked.wait_sealed(forked.add())
    assert forked.row("Process", "status", "end_reason", pk=key) == {"status": "exited", "end_reason": "lost"}
    forked.leave()


FOREIGN = "00000000-0000-7000-8000-000000000000"
HOSTILE: dict[str, list[dict[str, object]]] = {
    "Tag": [{"name": "x" * 100_000}, {"name": {"a": 1}}, {"name": "nul\\u0000inside"}, {"name": -1}, {}],
    "Process": [
        {"pid": 10**30, "exit_code": 10**30, "cmd": "text"},
        {"id": "not a uuid", "pid": "abc", "exit_code": "1e5", "started_at": 10**20, "ended_at": []},
        {"id": 7, "cmd": [None, {"a": 1}], "pwd": ["x"]},
        {"id": "ANOTHER", "cmd": ["mine"], "exit_code": 3},
        {"pid": 1, "start_ticks": 1, "cmd": ["init"]},
        {"pid": -1, "start_ticks": -1, "cmd": ["everybody"]},
    ],
    "Snapshot": [
        {"id": "SNAPSHOT", "title": 10**40},
        {"id": "SNAPSHOT", "title": ["list"], "tags": 5, "http_status": -1, "quality": 10**9},
        {"id": "SNAPSHOT", "title": None, "retry_after": -(10**18)},
        {"id": "SNAPSHOT", "retry_after": "for ever"},
        {"id": "SNAPSHOT", "title": "\0\ud800", "tags": ["\0\ud800"]},
        {"id": FOREIGN, "title": "another's"},
        {"url": "http://one.test/" + "x" * 100_000},
        {"url": "http://one.test/big", "depth": 10**30},
        {"url": "http://one.test/negative", "depth": -3, "tags": {"a": 1}, "bookmarked_at": 10**30},
        {"url": "http://one.test/config", "config": {"TIMEOUT": "soon"}, "crawl_id": FOREIGN},
    ],
    "Crawl": [{"id": "CRAWL", "config": {"TIMEOUT": "soon"}, "max_depth": 10**9}, {"config": "text"}, {"urls": -1}],
    "Machine": [{}, {"config": {}}, {"config": {"NO_SUCH_SETTING": 5, "PATH": "/"}}, {"id": FOREIGN}],
    "ArchiveResult": [
        {"status": "excellent", "output_str": {"a": 1}},
        {"status": ["succeeded"]},
        {"status": "noresults", "output_str": "\0\ud800", "output_json": ["\0\ud800"]},
        {"id": FOREIGN, "snapshot_id": FOREIGN, "status": "succeeded", "output_json": [[[10**400]]]},
        {"refused": "record_refused", "status": "noresults"},
    ],
    "Unheard": [{"of": 1}],
}
"""By type: records of which nothing that is wrong has an effect, and whose hooks go on."""
REFUSED: dict[str, list[dict[str, object]]] = {
    "Machine": [
        {"config": "text"},
        {"config": {"TIMEOUT": "soon"}},
        {"config": {"TIMEOUT": -1, "USER_AGENT": "half of it"}},
        {"config": {"TIMEOUT": 10**30}},
        {"config": {"SAVE_HOSTILE": {"a": 1}}},
        {"config": {"URL_DENYLIST": "(unclosed"}},
        {"config": {"PRIVATE_NETWORK_ALLOWLIST": ["10.0.0.0/99"]}},
        {"config": {"PROXY": "http://h:99999"}},
    ],
    "Binary": [
        {"name": None, "abspath": 5, "version": {"a": 1}},
        {"name": "x" * 10_000, "abspath": "/" + "x" * 10_000},
        {"name": "../../../outside"},
        {"name": "wget", "binproviders": 5},
        {"name": "wget", "overrides": ["text"]},
        {"name": "wget", "machine_id": FOREIGN},
        {"name": "wget", "binary_id": FOREIGN},
        {"id": FOREIGN, "name": "wget", "abspath": "/bin/false"},
        {},
    ],
}
"""By type: records that are their hook's failure."""
KINDS = [(kind, False) for kind in HOSTILE] + [(kind, True) for kind in REFUSED]


@pytest.mark.parametrize(("kind", "is_refused"), KINDS)
def test_what_is_wrong_in_a_record_harms_nobody_else(forked: Collection, kind: str, is_refused: bool) -> None:
    """Records before and after it are taken, its hook alone has failed or has not, and the next page is as before."""
    key = "02000000-0000-7000-8000-000000000003"
    last = {"type": "Process", "id": key, "cmd": ["another hook's"], "exit_code": 0}
    forked.plugin("first", {"on_Snapshot__10_first.py": prints(last)})
    hooks = {
        f"on_Snapshot__7{number % 10}_h{number}.py": prints(
            {"type": "Tag", "name": f"before {number}"},
            {"type": kind, **fields},
            {"type": "Tag", "name": f"after {number}"},
        ).replace("ANOTHER", key)
        for number, fields in enumerate((REFUSED if is_refused else HOSTILE)[kind])
    }
    forked.plugin("hostile", hooks)
    forked.run(forked.add(max_depth=1))
    expected = {f"{when} {number}" for when in ("before", "after") for number in range(len(hooks))}
    assert expected <= {row["name"] for row in forked.rows("Tag", "name")}
    results = forked.rows("ArchiveResult", "status", "reason", plugin="hostile", snapshot__depth=0)
    assert len(results) == len(hooks)
    outcomes = {(row["status"], row["reason"].partition(":")[0]) for row in results}
    if is_refused:
        assert outcomes == {("failed", "record_refused")}
    else:
        assert {status for status, _ in outcomes} <= {"succeeded", "noresults"}
        assert "_refused" not in (forked.root / "logs" / "orchestrator.log").read_text()
    assert {row["status"] for row in forked.rows("Snapshot", "status")} == {"sealed"}
    assert forked.row("Machine", "config")["config"] == {}
    assert forked.row("Process", "cmd", pk=key)["cmd"] == ["another hook's"]
    assert forked.row("Crawl", "config", "max_depth")["max_depth"] == 1
    assert not forked.rows("Process", "pk", process_type="binary", start_ticks__in=[1, -1])
    workers = forked.processes(worker_type="worker")
    assert [row["exit_code"] for row in workers] == [0], "no record takes a worker down"


@pytest.mark.once
def test_a_setting_that_a_hook_may_not_make_stops_nobody(forked: Collection) -> None:
    """Neither what runs at that moment, nor what is added afterwards."""
    forked.plugin("sets", {"on_Snapshot__10_sets.py": prints({"type": "Machine", "config": {"TIMEOUT": "soon"}})})
    forked.plugin("page", {"on_Snapshot__20_page.sh": 'echo ran >> "$DATA_DIR/ledger"\n'})
    forked.watch()
    forked.wait_sealed(forked.add("http://one.test/"))
    forked.wait_sealed(forked.add("http://two.test/"))
    forked.leave()
    assert forked.ledger == ["ran", "ran"]


def test_what_the_database_undid_is_not_remembered_by_the_worker(forked: Collection) -> None:
    """Two records of one read: the first is taken alone where the second is refused, and both tell of what is kept."""
    forked.plugin(
        "sets",
        {
            "on_Snapshot__10_sets.py": prints(
                {"type": "Machine", "config": {"USER_AGENT": "kept"}},
                {"type": "Machine", "config": {"USER_AGENT": 5, "TIMEOUT": 7}},
            )
        },
    )
    forked.plugin("tells", {"on_Snapshot__20_tells.sh": 'echo "$USER_AGENT $TIMEOUT" >> "$DATA_DIR/ledger"\n'})
    forked.watch()
    forked.wait_sealed(forked.add("http://one.test/"))
    forked.wait_sealed(forked.add("http://two.test/"))
    forked.leave()
    assert forked.ledger[-1] == "kept 60"
    assert forked.row("Machine", "config")["config"] == {"USER_AGENT": "kept"}


@pytest.mark.once
def test_a_file_that_another_hook_has_taken_away_is_told_of_no_more(forked: Collection) -> None:
    forked.plugin("writes", {"on_Snapshot__24_writes.sh": "echo one > kept.txt\necho two > packed.txt\n"})
    forked.plugin("packs", {"on_Snapshot__92_packs.sh": "mv ../writes/packed.txt packed.gz\n"})
    forked.run(forked.add())
    results = forked.results()
    assert list(results["writes"]["output_files"]) == ["kept.txt"]
    assert list(results["packs"]["output_files"]) == ["packed.gz"]
    assert forked.row("ArchiveResult", "output_size", plugin="writes")["output_size"] == len("one\n")
    assert forked.row("Snapshot", "size")["size"] == len("one\n" + "two\n"), "since its seal"
