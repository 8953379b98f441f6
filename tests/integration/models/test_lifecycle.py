"""A crawl from its acceptance to its seal by the models' own methods, with tiny hooks that really run."""

from __future__ import annotations

import time

import pytest
from django.contrib.auth.models import User

from archivebox.core.crawl_control.retry import retry_missing
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.crawls.models import Crawl, CrawlRun
from archivebox.hooks import discover_hooks, process_hook_records, run_hook
from archivebox.lib.jsonl import JSON
from archivebox.machine.models import Machine, Process
from archivebox.workers.queue.ticks import tick
from tests.factories import crawl, leased, plugin, snapshot
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")
LISTENS = "trap 'echo got > listened.txt; exit 0' TERM; echo up; while :; do sleep 0.1; done\n"
SAY = "#!/bin/sh\necho '%s'\n"


def run_steps(page: Snapshot, only: str) -> list[str]:
    """All results of one plugin, step by step in file-name order, by the synchronous way; the rest is left out."""
    ran: list[str] = []
    arrange(page.archiveresult_set.exclude(plugin=only), status="skipped")
    while True:
        for result in page.archiveresult_set.all().in_step(page.current_step).unfinished().order_by("hook_name"):
            if result.status == "queued":
                result.run()
                ran.append(str(result.hook_name))
        if not page.advance_step_if_ready():
            return ran


def test_mixed_hooks_from_start_to_seal() -> None:
    scripts = {
        "on_Snapshot__05_background.daemon.bg.sh": LISTENS,
        "on_Snapshot__20_title.sh": SAY % '{"type": "ArchiveResult", "status": "succeeded", "output_str": "T"}',
        "on_Snapshot__50_fails.sh": "echo broken >&2; exit 1\n",
        "on_Snapshot__51_soft.sh": SAY % '{"type": "ArchiveResult", "status": "failed"}',
        "on_Snapshot__70_links.sh": SAY % '{"type": "Snapshot", "url": "https://example.com/found"}',
        "on_Snapshot__93_last.sh": "ls > list.txt\n",
    }
    plugin("mixed", scripts)
    one = crawl(max_depth=1)
    tick(Crawl.objects.get(pk=one.pk))
    page = leased(one.snapshot_set.get())
    page.transition("start")
    ran = run_steps(page, "mixed")
    assert ran == sorted(scripts)  # no hook is skipped because another failed
    background = page.archiveresult_set.get(plugin="mixed", hook_name__contains=".bg.")
    assert background.status == "started"
    assert page.has_running_background_hooks()
    log = page.process_set.get(hook_name__contains=".bg.").stdout_file
    while not log.read_text():
        time.sleep(0.01)
    page.transition("seal", owner=None, retry_at=None)
    outcomes = dict(page.archiveresult_set.filter(plugin="mixed").values_list("hook_name", "status"))
    assert outcomes == {
        "on_Snapshot__05_background.daemon.bg.sh": "succeeded",
        "on_Snapshot__20_title.sh": "succeeded",
        "on_Snapshot__50_fails.sh": "backoff",
        "on_Snapshot__51_soft.sh": "failed",
        "on_Snapshot__70_links.sh": "noresults",  # URLs are no files of its own
        "on_Snapshot__93_last.sh": "succeeded",
    }
    assert not page.process_set.running().exists()
    assert {process.exit_code for process in page.process_set.all()} == {0, 1}
    assert all(process.ended_at and process.parent_id == Process.current().pk for process in page.process_set.all())
    found = Snapshot.objects.get(url="https://example.com/found")
    assert (found.depth, found.parent_snapshot, found.status) == (1, page, "queued")
    tick(Crawl.objects.get(pk=one.pk))
    assert Crawl.objects.get(pk=one.pk).status == "started"  # the page it found is to come


def test_a_retry_runs_the_failed_hook_alone() -> None:
    scripts = {
        "on_Snapshot__10_good.sh": "echo again >> runs.txt\n",
        "on_Snapshot__20_late.sh": "test -e ../allowed && echo yes > late.txt\n",
    }
    plugin("again", scripts)
    page = leased(snapshot())
    page.transition("start")
    run_steps(page, "again")
    page.transition("seal", owner=None, retry_at=None)
    assert page.archiveresult_set.get(hook_name=sorted(scripts)[1]).status == "backoff"
    (page.path / "allowed").touch()
    assert retry_missing(Snapshot.objects.filter(pk=page.pk)) == 1
    page = leased(Snapshot.objects.get(pk=page.pk))
    page.transition("reopen")
    page.update_and_requeue(current_step=0)
    page.transition("start")
    assert run_steps(page, "again") == [sorted(scripts)[1]]
    page.transition("seal", owner=None, retry_at=None)
    assert (page.path / "again" / "runs.txt").read_text() == "again\n"
    results = page.archiveresult_set.filter(plugin="again")
    assert {result.status for result in results} == {"succeeded"}
    assert page.process_set.count() == 3  # every attempt stays reachable


def test_a_crawl_is_sealed_when_its_pages_and_runs_are() -> None:
    one = crawl("https://example.com/1", "https://example.com/2")
    tick(Crawl.objects.get(pk=one.pk))
    run = CrawlRun.of(one.pk, Machine.current().pk)
    run.transition("start")
    for page in one.snapshot_set.all():
        held = leased(page)
        held.transition("start")
        arrange(held.archiveresult_set.all(), status="skipped")
        held.transition("seal", owner=None, retry_at=None)
    tick(Crawl.objects.get(pk=one.pk))
    assert Crawl.objects.get(pk=one.pk).status == "started"
    run.transition("seal")
    tick(Crawl.objects.get(pk=one.pk))
    sealed = Crawl.objects.get(pk=one.pk)
    assert (sealed.status, sealed.retry_at, sealed.owner) == ("sealed", None, None)


def test_hooks_by_hand() -> None:
    """``discover_hooks``, ``run_hook`` and ``process_hook_records`` as authors of plugins call them."""
    folder = plugin(
        "hand",
        {
            "on_Snapshot__10_a.sh": 'echo "$HAND_WORD $1"; echo x > made\n',
            "on_Snapshot__20_b.bg.sh": "sleep 60\n",
            "on_Crawl__05_c.sh": "true\n",
        },
        {"type": "object", "properties": {"HAND_WORD": {"type": "string", "default": "one"}}},
    )
    mine = [hook.file_name for hook in discover_hooks("Snapshot") if hook.plugin == "hand"]
    assert mine == ["on_Snapshot__10_a.sh", "on_Snapshot__20_b.bg.sh"]
    assert [hook.file_name for hook in discover_hooks("Crawl") if hook.plugin == "hand"] == ["on_Crawl__05_c.sh"]
    page = snapshot()
    done = run_hook(folder / mine[0], page.path / "hand", {"HAND_WORD": "two"}, url=page.url, snapshot_id=page.pk)
    assert (done.status, done.exit_code, done.stdout) == ("exited", 0, f"two --url={page.url}\n")
    assert (page.path / "hand" / "made").read_text() == "x\n"
    assert done in page.process_set.all()
    parent = Process.current()
    background = run_hook(
        folder / mine[1], page.path / "hand", {}, timeout=30, parent_process=done, snapshot_id=page.pk
    )
    assert (background.status, background.timeout, background.parent) == ("running", 30, done)
    assert background.ancestors == [done, parent]
    assert background.kill_tree()
    with pytest.raises(FileNotFoundError, match="is not there"):
        run_hook(folder / "on_Snapshot__99_no.sh", page.path / "hand", {})
    counts = process_hook_records(
        [{"type": "Tag", "name": "a"}, {"type": "Tag", "name": "b"}, {"type": "Unheard", "x": 1}, {"no": "type"}],
        {"snapshot": page},
    )
    assert counts == {"Tag": 2, "unknown": 2}


def test_records_belong_to_the_model_and_the_owner_that_are_named() -> None:
    """``overrides["model"]`` stands for whatever object printed them, ``created_by_id`` for who owns what is made."""
    plugin("named", {"on_Snapshot__10_a.sh": "true\n"})
    page, somebody = snapshot(), User.objects.create_user("somebody")
    page.create_pending_archiveresults()
    result = page.archiveresult_set.get(plugin="named")
    found: list[dict[str, JSON]] = [{"type": "Tag", "name": "a"}, {"type": "Snapshot", "url": f"{page.url}#next"}]
    assert process_hook_records(found, {"model": page}) == {"Tag": 1, "Snapshot": 1}
    assert [tag.name for tag in page.tags.all()] == ["a"]
    child = page.outlinks.get()
    assert (child.crawl, child.created_by) == (page.crawl, page.created_by)
    process_hook_records([{"type": "Tag", "name": "b"}], {"model": result})
    assert page.tags.filter(name="b").exists()
    given = {"model": page.crawl, "created_by_id": somebody.pk}
    process_hook_records([{"type": "Snapshot", "url": f"{page.url}#third"}], given)
    owned = page.crawl.snapshot_set.get(created_by=somebody)
    assert owned.output_dir.startswith("users/somebody/")


def test_a_result_belongs_to_one_hook_of_one_snapshot() -> None:
    plugin("single", {"on_Snapshot__10_a.sh": "true\n"})
    page, other = snapshot(), snapshot()
    for one in (page, other):
        one.create_pending_archiveresults()
    assert ArchiveResult.objects.filter(plugin="single").count() == 2
