"""A page that loads and only waits for servers is known by it, so that others are worked on meanwhile."""

from __future__ import annotations

import time

import pytest

from archivebox.plugins.base.cdp import CDPConnection
from archivebox.plugins.chrome.arrival import Idleness, is_idle
from tests.plugins_bundled.browser.chain import NAVIGATE, Crawl
from tests.site.serve import Site

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("path", ["/never", "/stall", "/trickle", "/blocked-parser"])
def test_a_page_that_waits_says_so_while_it_does(crawl: Crawl, site: Site, path: str) -> None:
    """Nothing has come; half of the document has; a byte comes now and then; a script of it never does."""
    page = crawl.snapshot(f"waits_{path[1:]}", site.url_for(path), TIMEOUT="300", CHROME_PAGELOAD_TIMEOUT="120")
    navigation = page.open_tab().start(NAVIGATE).wait_until_said("Waiting")
    navigation.end_for_good()
    page.close()


def test_a_page_that_loads_says_nothing(crawl: Crawl, site: Site) -> None:
    page = crawl.snapshot("loads", site.url_for("/article"))
    outcome = page.navigate()
    assert [record["type"] for record in outcome.records] == ["Snapshot", "ArchiveResult"]


def test_a_page_at_work_is_found_idle_only_when_it_has_done(crawl: Crawl, site: Site) -> None:
    """Its script is at work for longer than four looks take; no look comes before the script does."""
    page = crawl.snapshot("works", site.url_for("/colour"))
    assert page.navigate().status == "succeeded"
    tab = page.json("chrome/target.json")
    connection = CDPConnection.open(tab["socket"], tab["target_id"])
    connection.call("Performance.enable")
    work = "const until = performance.now() + 2500; while (performance.now() < until); document.title"
    script = connection.begin("Runtime.evaluate", {"expression": f"{{ {work} }}"})
    idleness = Idleness(connection)
    while connection.reply(script) is None:
        assert not idleness.is_found()
        connection.next_event(0.05)
    found_at = time.monotonic()
    while not idleness.is_found():
        connection.next_event(min(1.0, idleness.pause(time.monotonic())))
        assert time.monotonic() < found_at + 60
    connection.close()


@pytest.mark.parametrize(
    ("before", "now", "idle"),
    [
        ({"Timestamp": 10, "TaskDuration": 1}, {"Timestamp": 10.5, "TaskDuration": 1.004}, True),
        ({"Timestamp": 10, "TaskDuration": 1}, {"Timestamp": 10.5, "TaskDuration": 1.2}, False),
        ({"Timestamp": 10, "TaskDuration": 1}, {"Timestamp": 10.5, "TaskDuration": 0.1}, False),
        ({}, {"Timestamp": 10.5, "TaskDuration": 1}, False),
        ({"Timestamp": 10, "TaskDuration": 1}, {}, False),
    ],
    ids=["idle", "at work", "another process", "the first look", "nothing told"],
)
def test_next_to_nothing_between_two_looks_is_idle(
    before: dict[str, float], now: dict[str, float], *, idle: bool
) -> None:
    assert is_idle(before, now) is idle
