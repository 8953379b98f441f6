"""What a file system answers while a page is worked on is that page's failure, and nobody else's."""

import os
import signal
from pathlib import Path

import pytest

from tests.integration.engine.driver import Collection, Row

BREAKS = {
    "logs-are-a-file": "rm -rf ../.hooks; touch ../.hooks",
    "logs-are-a-loop": "rm -rf ../.hooks; ln -s .hooks ../.hooks",
    "logs-are-gone": "rm -rf ../.hooks",
    "page-is-a-file": 'page=$SNAP_DIR; cd /; rm -rf "$page"; touch "$page"',
    "page-is-gone": 'page=$SNAP_DIR; cd /; rm -rf "$page"',
    "page-is-a-loop": 'page=$SNAP_DIR; cd /; rm -rf "$page"; ln -s "$page" "$page"',
    "output-is-a-file": 'out=$PWD; cd /; rm -rf "$out"; touch "$out"',
}
ON_BAD_PAGES = 'case "$SNAP_DIR" in *bad.test*) ;; *) exit 0;; esac\n'


def deaths(made: Collection) -> list[Row]:
    """Workers that did not end as they were told."""
    return [row for row in made.processes(worker_type="worker", status="exited") if row["exit_code"] != 0]


def in_the_way(made: Collection, model: str, **where: object) -> Path:
    """A file where the folder of a row belongs."""
    folder = made.root / str(made.row(model, "output_dir", **where)["output_dir"])
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("in the way")
    return folder


@pytest.mark.parametrize("way", BREAKS)
def test_a_hook_that_breaks_its_pages_folder_fails_that_page_alone(forked: Collection, way: str) -> None:
    forked.plugin(
        "breaks",
        {
            "on_Snapshot__10_listens.daemon.bg.sh": "echo ready\nsleep 600\n",
            "on_Snapshot__20_breaks.sh": f"{ON_BAD_PAGES}{BREAKS[way]}\n",
            "on_Snapshot__30_after.sh": "echo kept > kept.txt\n",
        },
    )
    forked.add("http://bad.test/", "http://good.test/")
    forked.run()
    assert not deaths(forked)
    pages = {row["domain"]: row["pk"] for row in forked.rows("Snapshot", "pk", "domain", status="sealed")}
    assert set(pages) == {"bad.test", "good.test"}
    good = forked.results(snapshot_id=pages["good.test"])
    assert good["after"]["status"] == "succeeded"
    after = forked.results(snapshot_id=pages["bad.test"])["after"]
    if way in {"logs-are-gone", "page-is-gone"}:
        assert after["status"] == "succeeded", "what is missing is made again"
    else:
        assert (after["status"], after["reason"].partition(":")[0]) == ("backoff", "folder_unusable")


def test_what_a_folder_kept_from_running_is_tried_again_when_it_can_be_used(forked: Collection) -> None:
    """As where an output folder is on a mount that is gone for a while."""
    breaks = '[ -e "$DATA_DIR/whole" ] || { rm -rf ../later; touch ../later; }\n'
    forked.plugin("breaks", {"on_Snapshot__20_breaks.sh": breaks})
    forked.plugin("later", {"on_Snapshot__30_later.sh": "echo kept > kept.txt\n"})
    forked.run(forked.add())
    (file,) = forked.root.glob("users/*/snapshots/*/*/*/later")
    file.unlink()
    assert forked.actor.ask("time_has_come") == 1
    forked.run_until("the retry", lambda: forked.results()["later"]["status"] == "succeeded")


def test_a_link_in_place_of_the_folder_of_logs_is_not_followed(forked: Collection) -> None:
    """Neither by the start of the next hook nor at the seal, which removes and packs what lies there."""
    elsewhere = forked.base / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.pid").write_text("1")
    links = f"rm -rf ../.hooks; ln -s {elsewhere} ../.hooks\n"
    forked.plugin("links", {"on_Snapshot__20_links.sh": links, "on_Snapshot__30_later.sh": "echo kept > kept.txt\n"})
    forked.run(forked.add())
    assert [path.name for path in elsewhere.iterdir()] == ["mine.pid"]
    page = forked.row("Snapshot", "reason", "retry_at")
    assert page["reason"].startswith("folder_unusable")
    assert page["retry_at"] is not None
    (link,) = forked.root.glob("users/*/snapshots/*/*/*/.hooks")
    link.unlink()
    assert forked.actor.ask("time_has_come") == 1
    forked.run_until("the retry", lambda: forked.results()["later"]["status"] == "succeeded")
    assert forked.row("Snapshot", "reason")["reason"] == ""


@pytest.mark.parametrize("way", ["logs-are-a-file", "page-is-a-file", "page-is-a-loop"])
def test_a_worker_that_dies_over_a_broken_folder_leaves_nothing_behind(forked: Collection, way: str) -> None:
    """What is put on record after its death is read from that folder, too."""
    waits = 'until [ -e "$DATA_DIR/killed" ]; do sleep 0.05; done\n'
    forked.plugin(
        "breaks",
        {
            "on_Snapshot__10_listens.daemon.bg.sh": "echo ready\nsleep 600\n",
            "on_Snapshot__20_breaks.sh": f'{BREAKS[way]}\necho broken >> "$DATA_DIR/ledger"\n{waits}',
        },
    )
    forked.add()
    forked.watch()
    forked.wait_ledger("broken")
    (worker,) = forked.processes(worker_type="worker", status="running")
    os.kill(worker["pid"], signal.SIGKILL)
    (forked.root / "killed").touch()
    forked.wait_sealed()
    forked.leave()
    assert [row["pk"] for row in deaths(forked)] == [worker["pk"]]
    assert forked.row("Snapshot", "status")["status"] == "sealed"


@pytest.mark.parametrize("what", ["Snapshot", "Crawl"])
def test_a_folder_that_cannot_be_made_fails_its_own_hooks(forked: Collection, what: str) -> None:
    forked.plugin(
        "page",
        {
            "on_Crawl__10_browser.sh": "exit 0\n",
            "on_Snapshot__10_page.sh": "echo kept > kept.txt\n",
        },
    )
    bad, good = forked.add("http://bad.test/"), forked.add("http://good.test/")
    where = {"domain": "bad.test"} if what == "Snapshot" else {"pk": bad}
    in_the_way(forked, what, **where)
    forked.run(bad, good)
    assert not deaths(forked)
    (result,) = forked.rows("ArchiveResult", "status", "reason", plugin="page", snapshot__crawl_id=bad)
    if what == "Snapshot":
        assert (result["status"], result["reason"].partition(":")[0]) == ("backoff", "folder_unusable")
    else:
        assert result["status"] == "succeeded", "a failed hook of the crawl skips nothing"
        assert "folder_unusable" in forked.row("CrawlRun", "reason", crawl_id=bad)["reason"]
    (other,) = forked.rows("ArchiveResult", "status", plugin="page", snapshot__crawl_id=good)
    assert other["status"] == "succeeded"


def test_a_program_whose_folder_cannot_be_made_is_not_found_and_the_rest_goes_on(forked: Collection) -> None:
    forked.plugin("page", {"on_Snapshot__10_page.sh": "exit 0\n"}, binaries=[{"name": "sh", "binproviders": "env"}])
    forked.run(forked.add("http://one.test/"))
    in_the_way_of = forked.root / str(forked.row("Binary", "output_dir", name="sh")["output_dir"])
    for path in sorted(in_the_way_of.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    in_the_way_of.rmdir()
    in_the_way_of.write_text("in the way")
    forked.actor.ask("look_again_for", name="sh")
    forked.run(forked.add("http://two.test/"))
    assert not deaths(forked)
    assert forked.row("Binary", "status", name="sh")["status"] == "failed"
