"""Settings and plugins that change while workers run; what is not allowed holds work up, and loses none of it."""

import shutil

import pytest

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
