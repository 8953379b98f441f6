"""What the models' own methods do for a crawl, and for authors of plugins."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from archivebox.hooks import discover_hooks, process_hook_records, run_hook
from archivebox.lib.jsonl import JSON
from archivebox.machine.models import Process
from tests.factories import plugin, snapshot

pytestmark = pytest.mark.usefixtures("collection")


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


def test_a_hook_that_lies_outside_every_plugin_runs(tmp_path: Path) -> None:
    script = tmp_path / "elsewhere" / "on_Snapshot__10_a.sh"
    script.parent.mkdir()
    script.write_text("echo here\n")
    page = snapshot()
    done = run_hook(script, page.path / "elsewhere", {}, snapshot_id=page.pk)
    assert (done.exit_code, done.stdout, done.plugin) == (0, "here\n", "elsewhere")


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
