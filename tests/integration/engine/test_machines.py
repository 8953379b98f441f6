"""What the queue promises, on both engines: two workers with a file, two machines with a server of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.engine.driver import Collection, collection
from tests.suite.packages import missing
from tests.suite.postgres import cluster

pytestmark = pytest.mark.once
needs_server = pytest.mark.skipif("postgresql" in missing(), reason="needs PostgreSQL's programs")
SOON = 25.0
"""Seconds: less than the thirty after which a worker polls unasked."""
NOTE = 'echo "$(date +%s%N) {} ${{SNAP_DIR##*/}}" >> "$DATA_DIR/ledger"\n'
PAGE = NOTE.format("begins") + "sleep 0.4\n" + NOTE.format("ends")
BROWSER = NOTE.format("opens") + 'trap "exit 0" TERM\necho \'{"type":"Ready"}\'\nwhile :; do sleep 0.1; done\n'
SETTINGS = {"ARCHIVEBOX_LEASE_SECONDS": "6", "DOMAIN_CONCURRENCY": "2", "SECRET_KEY": "of no server"}


class Machines:
    """Those that share one collection's rows."""

    def __init__(self, *each: Collection) -> None:
        self.each = each
        self.here = each[0]
        for one in each:
            one.plugin("note", {"on_Snapshot__10_note.sh": PAGE, "on_Crawl__10_browser.daemon.bg.sh": BROWSER})

    def watch(self) -> None:
        for one in self.each:
            one.watch()
        one.wait("workers everywhere", lambda: self._at_work() == len(self.each))

    def _at_work(self) -> int:
        """On how many machines there are workers."""
        rows = self.here.rows("Process", "machine_id", worker_type="worker", status="running")
        return len({row["machine_id"] for row in rows})

    def leave(self) -> None:
        """The watchers go; then nothing runs any more. Rows of a machine that died say so until it is given up."""
        for one in self.each:
            for watcher in one.watchers:
                watcher.terminate()
        for one in self.each:
            for watcher in one.watchers:
                watcher.wait()
            one.watchers.clear()
            one.wait_until_gone()

    def noted(self, word: str) -> list[str]:
        """Which pages did so, in the order of time, on all machines."""
        return [page for _, said, page in self.lines() if said == word]

    def lines(self) -> list[tuple[int, str, str]]:
        """When, what, and which page."""
        lines = [line.split() for one in self.each for line in one.ledger]
        return sorted((int(line[0]), line[1], "".join(line[2:])) for line in lines)


@contextmanager
def two_machines(base: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    for name in ("here", "elsewhere"):
        (base / name).mkdir()
    with cluster() as server:
        monkeypatch.setenv("DATABASE_URL", server.url)
        with collection(base / "here", MACHINE_ID="here", **SETTINGS) as here:
            shared = {"MACHINE_ID": "elsewhere", "DATABASE_URL": here.env["DATABASE_URL"]}
            with collection(base / "elsewhere", **shared, **SETTINGS) as elsewhere:
                yield Machines(here, elsewhere)


@pytest.fixture(params=["file", pytest.param("server", marks=needs_server)])
def machines(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    if request.param == "file":
        monkeypatch.delenv("DATABASE_URL", raising=False)
        with collection(tmp_path, WORKERS="2", **SETTINGS) as alone:
            yield Machines(alone)
    else:
        with two_machines(tmp_path, monkeypatch) as both:
            yield both


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    with two_machines(tmp_path, monkeypatch) as both:
        yield both


def urls(crawl: str, hosts: int, pages: int = 1) -> list[str]:
    return [f"http://h{host}.test/{crawl}/{page}" for host in range(hosts) for page in range(pages)]


def test_each_page_runs_once_and_no_host_gets_more_at_a_time_than_allowed(machines: Machines) -> None:
    machines.watch()
    for crawl in ("one", "two"):
        machines.here.add(*urls(crawl, hosts=2, pages=6))
    machines.here.wait_sealed()
    machines.leave()
    machines.here.check_nothing_left()
    began = machines.noted("begins")
    assert len(began) == len(set(began)) == 24
    host_of = {str(row["pk"]): row["domain"] for row in machines.here.rows("Snapshot", "pk", "domain")}
    at_work: list[str] = []
    for _, said, page in machines.lines():
        if said == "begins":
            at_work.append(host_of[page])
            assert at_work.count(host_of[page]) <= 2
        elif said == "ends":
            at_work.remove(host_of[page])


def test_idle_machines_are_woken_by_what_is_added_and_by_what_falls_due(machines: Machines) -> None:
    machines.watch()
    for number in range(3):
        crawl = machines.here.add(*urls(str(number), hosts=1))
        machines.here.wait_sealed(crawl, seconds=SOON)
    schedule = machines.here.actor.ask(
        "schedule", every="daily", url="http://later.test/", config={"PLUGINS": ["note"]}
    )
    machines.here.actor.ask("let_come", schedules=[schedule], seconds=3.0)
    machines.here.wait("the scheduled page", lambda: len(machines.noted("ends")) == 4, seconds=SOON)
    machines.here.wait_sealed()
    machines.leave()


def test_a_small_crawl_does_not_wait_for_the_end_of_a_large_one(machines: Machines) -> None:
    machines.watch()
    large = machines.here.add(*urls("large", hosts=20, pages=2))
    machines.here.wait("its first pages", lambda: machines.noted("ends"))
    small = machines.here.add(*urls("small", hosts=2))
    machines.here.wait_sealed(small)
    assert not machines.here.is_sealed(large)
    machines.here.wait_sealed()
    machines.leave()


def test_pages_of_a_machine_that_died_are_finished(machines: Machines) -> None:
    machines.here.watch()
    machines.here.add(*urls("one", hosts=6))
    machines.here.wait("its first page", lambda: machines.noted("ends"))
    machines.here.kill()
    machines.each[-1].watch()
    sealed = {"status": "sealed"}
    machines.here.wait("all pages", lambda: len(machines.here.rows("Snapshot", "pk", **sealed)) == 6, seconds=60)
    machines.here.wait_sealed()
    machines.leave()


@needs_server
def test_a_crawl_that_one_machine_can_do_is_opened_on_one(both: Machines) -> None:
    both.watch()
    for number in range(4):
        both.here.add(*urls(str(number), hosts=3))
        both.here.wait_sealed()
    both.leave()
    both.here.check_nothing_left()
    assert (len(both.noted("opens")), len(both.noted("ends"))) == (4, 12)


@needs_server
def test_a_crawl_with_more_pages_than_one_machine_begins_is_opened_on_both(both: Machines) -> None:
    """Each page finds the browser of its machine, though both have one folder of pages."""
    here, elsewhere = both.each
    (elsewhere.root / "users").rmdir()
    (elsewhere.root / "users").symlink_to(here.root / "users")
    finds = '[ "$(cat "$CRAWL_OUTPUT_DIR/browser/folder")" = "$DATA_DIR" ] || exit 1\n' + PAGE
    for one in both.each:
        browser = 'echo "$DATA_DIR" > folder\n' + BROWSER
        one.plugin("browser", {"on_Crawl__10_browser.daemon.bg.sh": browser, "on_Snapshot__10_finds.sh": finds})
    both.watch()
    here.add(*urls("large", hosts=60, pages=2), PLUGINS=["browser"])
    here.wait_sealed()
    both.leave()
    assert all(any("ends" in line for line in one.ledger) for one in both.each)
    assert len(both.noted("ends")) == len(set(both.noted("ends"))) == 120
