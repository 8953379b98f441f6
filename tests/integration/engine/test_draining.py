"""A machine that is drained finishes what it has begun, gives back what takes too long, and begins nothing new."""

from __future__ import annotations

import pytest

from tests.integration.engine.driver import Collection

pytestmark = pytest.mark.database

WAITS = 'echo "$0" >> "$DATA_DIR/ledger"\nuntil [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\n'
BROWSER = 'trap "exit 0" TERM\necho \'{"type":"Ready"}\'\nwhile :; do sleep 0.1; done\n'
HOUR = 3600


@pytest.fixture
def at_work(forked: Collection) -> Collection:
    """One page of two is at work, with a browser; the other waits behind it, for their host."""
    forked.settings["DOMAIN_CONCURRENCY"] = "1"
    forked.plugin("browser", {"on_Crawl__10_browser.daemon.bg.sh": BROWSER})
    forked.plugin("waits", {"on_Snapshot__10_waits.sh": WAITS})
    forked.add("http://one.test/a", "http://one.test/b")
    forked.watch()
    forked.wait("a page at work", lambda: len(forked.ledger) == 1)
    return forked


def statuses(made: Collection) -> list[str]:
    return sorted(row["status"] for row in made.rows("Snapshot", "status"))


def holds(made: Collection) -> int:
    return sum(len(made.rows(model, "pk", owner__isnull=False)) for model in ("Snapshot", "CrawlRun"))


def check_resumes(at_work: Collection) -> None:
    (at_work.root / "go").touch()
    at_work.actor.ask("drain", seconds=None)
    at_work.wait_sealed()
    assert statuses(at_work) == ["sealed", "sealed"]
    at_work.leave()


@pytest.mark.default
def test_what_has_begun_is_finished_and_nothing_new_begins(at_work: Collection) -> None:
    at_work.actor.ask("drain", seconds=HOUR)
    at_work.wait("it is said", lambda: "is draining" in (at_work.base / "watcher.log").read_text())
    assert at_work.hooks("browser", status="running"), "its browser stays until the page is finished"
    (at_work.root / "go").touch()
    at_work.wait("nothing is held, not even the browser", lambda: not holds(at_work))
    assert statuses(at_work) == ["queued", "sealed"]
    assert len(at_work.ledger) == 1
    check_resumes(at_work)
    assert len(at_work.ledger) == 2


def test_what_is_not_finished_in_time_is_given_back(at_work: Collection) -> None:
    at_work.actor.ask("drain", seconds=0)
    at_work.wait("nothing is held", lambda: not holds(at_work))
    assert statuses(at_work) == ["queued", "queued"]
    assert not at_work.processes(process_type="hook", status="running")
    check_resumes(at_work)
