"""What the seeds ask of results and their runs, which are workers'; `ArchiveResult.run()` has them do it."""

import pytest

from tests.integration.engine.driver import Collection

pytestmark = pytest.mark.database
FOUND = 'seq -f \'{"type": "Tag", "name": "tag%g"}\' 1005\n'


COLUMNS = ("pwd", "start_ts", "end_ts", "process_id", "output_files", "output_size", "output_mimetypes", "snapshot_id")


def test_a_run_is_on_record_with_its_work_settings_and_output(forked: Collection) -> None:
    says = "pwd; echo $SNAP_DIR $TINY_COLOUR $TIMEOUT; for word; do echo $word; done\n"
    makes = "mkdir -p sub; printf '<p>' > page.html; head -c 1000 /dev/zero > sub/data.bin\n"
    colour = {"TINY_COLOUR": {"type": "string", "default": "red"}}
    forked.plugin("tiny", {"on_Snapshot__10_tiny.sh": says + makes}, config={"type": "object", "properties": colour})
    crawl = forked.add("http://one.test/a%20b?c=d", TINY_COLOUR="green", TIMEOUT=20)
    forked.run(crawl)
    row = forked.row("ArchiveResult", *COLUMNS, plugin="tiny")
    assert row["start_ts"]
    assert row["end_ts"]
    assert row["output_files"]["page.html"] == {"size": 3, "mimetype": "text/html"}
    assert row["output_size"] == 1003
    assert "text/html" in row["output_mimetypes"].split(",")
    (run,) = forked.hooks("tiny")
    assert run["pk"] == row["process_id"]
    words = run["stdout"].split("\n")
    assert words[:2] == [row["pwd"], row["pwd"].removesuffix("/tiny") + " green 20"]
    ids = {f"--snapshot-id={row['snapshot_id']}", f"--crawl-id={crawl}"}
    assert ids | {"--url=http://one.test/a%20b?c=d", "--depth=0"} <= set(words)


def test_workers_run_it_within_the_limits_of_its_page(forked: Collection) -> None:
    name = "on_Snapshot__10_found.sh"
    forked.plugin("found", {name: FOUND + '[ -e "$DATA_DIR/allowed" ] && echo x > file\n'})
    forked.run(forked.add())
    assert forked.results()["found"]["status"] == "backoff"
    (first,) = forked.hooks("found")
    (forked.root / "allowed").touch()
    assert forked.actor.ask("run_result", plugin="found", hook_name=name) == "succeeded"
    again = forked.hooks("found")[-1]
    assert again["pk"] != first["pk"], "each attempt stays reachable"
    (starter,) = forked.rows("Process", "worker_type", pk=again["parent_id"])
    assert starter["worker_type"] == "worker"
    assert len(forked.rows("Tag", "name")) == 1_000
    forked.check_nothing_left()


def test_a_page_that_nobody_has_begun_is_begun(forked: Collection) -> None:
    name = "on_Snapshot__10_later.sh"
    forked.plugin("later", {name: "echo x > file\n"})
    forked.add()
    assert forked.actor.ask("run_result", plugin="later") == "succeeded"
    assert forked.results(hook_name=name)["later"]["status"] == "succeeded"


@pytest.mark.parametrize("model", ["Crawl", "Snapshot"])
def test_crawls_and_pages_are_run_by_their_own_methods(forked: Collection, model: str) -> None:
    forked.plugin("tiny", {"on_Snapshot__10_tiny.sh": "echo x > file\n"})
    forked.add()
    assert forked.actor.ask("run_row", model=model) == "sealed"
    assert forked.results()["tiny"]["status"] == "succeeded"
    forked.check_nothing_left()


def test_a_program_is_looked_for_by_its_own_method(forked: Collection) -> None:
    forked.plugin("tiny", {"on_Snapshot__10_tiny.sh": "echo x > file\n"}, binaries=[{"name": "sleep"}])
    forked.run(forked.add())
    (program,) = forked.rows("Binary", "status", name="sleep")
    assert program["status"] == "succeeded"
    assert forked.actor.ask("run_row", model="Binary", name="sleep") == "succeeded"
    forked.check_nothing_left()


def test_one_that_names_no_hook_comes_to_what_the_worst_of_its_plugin_does(forked: Collection) -> None:
    scripts = {
        "on_Snapshot__10_first.sh": "echo 1 > first\n",
        "on_Snapshot__20_second.sh": "cat first > second; exit 3\n",
        "on_Snapshot__40_waits.bg.sh": "trap 'exit 0' TERM; while :; do sleep 0.1; done\n",
    }
    forked.plugin("tiny", scripts)
    forked.add()
    assert forked.actor.ask("run_result", plugin="tiny") == "backoff"
    assert {run["hook_name"] for run in forked.processes(process_type="hook")} == set(scripts)
    (imported,) = forked.rows("ArchiveResult", "reason", hook_name=None)
    assert imported["reason"] == "crashed"
    assert forked.actor.ask("run_result", plugin="no_such") == "failed"
    (gone,) = forked.rows("ArchiveResult", "reason", plugin="no_such")
    assert gone["reason"] == "missing_plugin"
    forked.check_nothing_left()
