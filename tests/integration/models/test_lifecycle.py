"""What the models' own methods do for a crawl, and for authors of plugins."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from archivebox.core.models import ArchiveResult
from archivebox.crawls.models import Crawl, CrawlRun
from archivebox.hooks import discover_hooks, process_hook_records, run_hook
from archivebox.lib.jsonl import JSON
from archivebox.machine.models import Machine, Process
from archivebox.workers.queue.ticks import tick
from tests.factories import crawl, leased, plugin, snapshot
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")


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
