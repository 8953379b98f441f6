"""Workers carry out jobs: beside pages, each page once, whoever is killed when."""

import json

import pytest

from tests.integration.engine.driver import Collection, Row

pytestmark = pytest.mark.database

PAGES = 800


def job(forked: Collection, key: str) -> Row:
    return forked.row("Job", "status", "position", "total", "done", "failed", "problem", "memory", pk=key)


def wait_until_it_is_at_work(forked: Collection, key: str, behind: int) -> None:
    forked.wait("the middle", lambda: job(forked, key)["position"] > behind)


@pytest.mark.default
def test_a_job_is_done_once_to_each_page_though_it_is_paused_and_everybody_is_killed(forked: Collection) -> None:
    forked.actor.ask("hold", count=PAGES)
    export = forked.actor.ask("begin_job", kind="export", query="", options={"format": "jsonl"})
    forked.watch()
    wait_until_it_is_at_work(forked, export, 3)
    assert forked.actor.ask("control_item", event="pause", model="Job", key=export)
    forked.wait("a pause", lambda: job(forked, export)["status"] == "paused")
    paused = job(forked, export)
    assert 0 < paused["done"] < PAGES

    tags = forked.actor.ask("begin_job", kind="tag", query="-#kept", options={"tags": ["kept"]})
    forked.wait("another job", lambda: job(forked, tags)["status"] == "sealed")
    assert job(forked, export) == paused
    assert forked.actor.ask("control_item", event="resume", model="Job", key=export)
    wait_until_it_is_at_work(forked, export, paused["position"])
    forked.kill()
    assert job(forked, export)["status"] == "started"

    forked.watch()
    forked.wait("the end", lambda: job(forked, export)["status"] == "sealed")
    for key in (export, tags):
        row = job(forked, key)
        assert (row["total"], row["done"], row["failed"], row["problem"]) == (PAGES, PAGES, 0, "")
    lines = (forked.root / "exports" / job(forked, export)["memory"]["file"]).read_text().splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == len(lines) == PAGES
    assert len(forked.rows("Snapshot", tags__name="kept")) == PAGES
    forked.leave()
