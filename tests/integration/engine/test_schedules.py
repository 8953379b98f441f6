"""Schedules are carried out by the workers that are there: each time once, whoever is killed when."""

from __future__ import annotations

import pytest

from tests.integration.engine.driver import Collection, Row

pytestmark = pytest.mark.database

SCHEDULES = 6


def crawls_of(forked: Collection, key: str) -> list[Row]:
    return forked.rows("Crawl", "status", schedule_id=key)


@pytest.mark.default
def test_each_due_time_makes_one_crawl_though_workers_race_and_are_killed(
    forked: Collection,
) -> None:
    forked.plugin("tiny", {"on_Snapshot__20_tiny.sh": "exit 0\n"})
    keys = [
        forked.actor.ask("schedule", every="2d", url=f"http://{number}.test/", config={"PLUGINS": ["tiny"]})
        for number in range(SCHEDULES)
    ]

    def is_made(times: int) -> bool:
        return all(len(crawls_of(forked, key)) >= times for key in keys) and forked.is_sealed()

    forked.watch_with(2)
    forked.actor.ask("let_come", schedules=keys, seconds=0.5)  # nothing wakes the workers then
    forked.wait("a crawl of each", lambda: is_made(1))
    forked.actor.ask("let_come", schedules=keys)
    forked.wait("the first of them", lambda: len(forked.rows("Crawl", schedule_id__in=keys)) > SCHEDULES)
    forked.kill()
    forked.watch()
    forked.wait("another of each", lambda: is_made(2))
    assert [len(crawls_of(forked, key)) for key in keys] == [2] * SCHEDULES
    assert len(forked.rows("Snapshot", crawl__schedule_id__in=keys)) == 2 * SCHEDULES
    forked.leave()


def test_the_end_of_a_crawl_lets_the_time_that_waited_for_it_come(forked: Collection) -> None:
    forked.plugin("waits", {"on_Snapshot__20_waits.sh": 'until [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\nexit 0\n'})
    key = forked.actor.ask("schedule", every="2d", url="http://one.test/", config={"PLUGINS": ["waits"]})
    forked.actor.ask("let_come", schedules=[key])
    forked.watch()
    forked.wait("its crawl", lambda: crawls_of(forked, key))
    forked.actor.ask("let_come", schedules=[key])
    forked.wait("it waits", lambda: forked.row("CrawlSchedule", "is_waiting", pk=key)["is_waiting"])
    assert len(crawls_of(forked, key)) == 1
    (forked.root / "go").touch()
    forked.wait("the next", lambda: [row["status"] for row in crawls_of(forked, key)] == ["sealed", "sealed"])
    forked.leave()
