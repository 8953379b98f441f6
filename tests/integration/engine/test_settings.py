"""Settings and plugins that change while workers run; what is not allowed holds work up, and loses none of it."""

import shutil
import time
from pathlib import Path

import pytest

from archivebox.workers.supervise.watch import POLL_EVERY
from tests.integration.engine.driver import Collection
from tests.integration.engine.test_broken_folders import deaths

PAGE = {"on_Snapshot__10_page.sh": 'echo "$SNAP_DIR" | grep -o "[a-z]*\\.test" >> "$DATA_DIR/ledger"\n'}


def test_work_waits_while_the_file_says_what_is_not_allowed(forked: Collection) -> None:
    forked.plugin("page", PAGE)
    conf = forked.root / "ArchiveBox.conf"
    allowed = conf.read_text() if conf.exists() else ""
    first = forked.add("http://one.test/")
    forked.watch()
    forked.wait_sealed(first)
    conf.write_text(f"{allowed}\nTIMEOUT = soon\n")
    second = forked.add("http://two.test/")
    log = forked.root / "logs" / "orchestrator.log"
    forked.wait("a sentence", lambda: "No work begins: TIMEOUT" in log.read_text())
    assert forked.ledger == ["one.test"]
    conf.write_text(allowed)
    forked.wait_sealed(second)
    forked.leave()
    assert forked.ledger == ["one.test", "two.test"]
    assert not deaths(forked)


def test_work_goes_on_with_the_last_settings_while_the_file_is_half_saved(forked: Collection) -> None:
    word = {"properties": {"PAGE_WORD": {"type": "string", "default": "none"}}}
    hook = 'echo "$PAGE_WORD" >> "$DATA_DIR/ledger"\n[ -e "$DATA_DIR/go" ]\n'
    forked.plugin("page", {"on_Snapshot__10_page.sh": hook}, config=word)
    conf = forked.root / "ArchiveBox.conf"
    before = conf.read_bytes() if conf.exists() else b""
    conf.write_bytes(before + b"\nPAGE_WORD = first\n")
    watcher = forked.watch()
    crawl = forked.add("http://one.test/")
    forked.wait("its failure", lambda: forked.results().get("page", {}).get("status") == "backoff")
    for tries, half in enumerate((b"PAGE_WO", b"PAGE_WORD = \xff\n"), start=2):
        conf.write_bytes(before + b"\n" + half)
        forked.wait_sealed(crawl)
        forked.actor.ask("time_has_come")
        forked.wait("another try", lambda tries=tries: len(forked.ledger) == tries)  # type: ignore[misc]
    time.sleep(POLL_EVERY + 1)  # until whoever watches has looked as well
    conf.write_bytes(before + b"\nPAGE_WORD = last\n")
    (forked.root / "go").touch()
    forked.wait_sealed(forked.add("http://two.test/"))
    assert watcher.poll() is None
    forked.leave()
    assert forked.ledger == ["first"] * 3 + ["last"]
    assert "its last settings hold" in (forked.root / "logs" / "orchestrator.log").read_text()
    assert not deaths(forked)


def test_a_crawl_with_a_setting_that_is_not_allowed_is_paused_and_the_others_go_on(forked: Collection) -> None:
    forked.plugin("page", PAGE)
    bad = forked.add("http://bad.test/")
    assert forked.actor.ask("configure", crawl=bad, config={"PLUGINS": forked.names, "TIMEOUT": "soon"}) == 1
    good = forked.add("http://good.test/")
    forked.watch()
    forked.wait_sealed(good)
    paused = forked.wait("its pause", lambda: forked.rows("Crawl", "reason", pk=bad, status="paused"))
    forked.leave()
    assert paused[0]["reason"].startswith("misconfigured:")
    assert forked.ledger == ["good.test"]
    assert not deaths(forked)


@pytest.mark.default
def test_running_workers_notice_plugins_that_come_change_and_go(forked: Collection) -> None:
    say = 'echo "{}" >> "$DATA_DIR/ledger"\n'
    forked.plugin("first", {"on_Snapshot__10_first.sh": say.format("first")})
    forked.watch()
    forked.wait_sealed(forked.add("http://one.test/"))
    forked.plugin("second", {"on_Snapshot__20_second.sh": say.format("second")})
    folder = forked.root / "plugins" / "first"
    (folder / "on_Snapshot__10_first.sh").rename(folder / "on_Snapshot__30_renamed.sh")
    forked.wait_sealed(forked.add("http://two.test/"))
    shutil.rmtree(folder)
    forked.wait_sealed(forked.add("http://three.test/"))
    forked.leave()
    assert forked.ledger == ["first", "second", "first", "second"]
    assert not deaths(forked)


def test_limits_of_a_crawl_hold_for_what_its_hooks_start_first(forked: Collection) -> None:
    """The file is written by a child that begins before anybody could limit the hook from outside."""
    body = "head -c 3000000 /dev/zero > early.bin &\nyes x | head -c 3000000\nwait $!\n"
    forked.plugin("big", {"on_Snapshot__10_big.sh": body})
    crawls = [forked.add(HOOK_FILE_MAX=1_000_000, HOOK_OUTPUT_MAX=100_000, MAX_ATTEMPTS=1), forked.add()]
    forked.run(*crawls)
    sizes, statuses, cut = [], [], []
    for crawl in crawls:
        (page,) = forked.rows("Snapshot", "pk", crawl_id=crawl)
        (result,) = forked.rows("ArchiveResult", "status", "pwd", snapshot_id=page["pk"])
        (run,) = forked.rows("Process", "output_cut", snapshot_id=page["pk"], process_type="hook")
        statuses.append(result["status"])
        sizes.append((Path(result["pwd"]) / "early.bin").stat().st_size)
        cut.append(bool(run["output_cut"]))
    assert sizes == [pytest.approx(1_000_000, abs=512), 3_000_000]
    assert (statuses, cut) == (["failed", "succeeded"], [True, False])
