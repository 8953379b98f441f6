"""What people change of a crawl holds at once, for what waits and for what runs."""

import json

import pytest

from tests.integration.engine.driver import Collection

pytestmark = pytest.mark.database

FOUND = ("http://one.test/keep", "http://one.test/drop/1", "http://one.test/drop/2", "ftp://one.test/file")
FIND = "\n".join(f"""echo '{json.dumps({"type": "Snapshot", "url": url})}'""" for url in FOUND)
HOLD = 'until [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\n'
NOTE = 'for word in "$@"; do case "$word" in --url=*) echo "${word#--url=}" >> "$DATA_DIR/ledger";; esac; done\n'


def begin(made: Collection) -> str:
    """A crawl whose pages all link to the same, found and held before the hook that would fetch them."""
    made.plugin("find", {"on_Snapshot__10_find.sh": FIND})
    made.plugin("hold", {"on_Snapshot__20_hold.sh": HOLD})
    made.plugin("fetch", {"on_Snapshot__30_fetch.sh": NOTE})
    made.settings["DOMAIN_CONCURRENCY"] = "2"
    crawl = made.add("http://one.test/", max_depth=1)
    made.watch()
    made.wait("all that is found is there", lambda: len(made.rows("Snapshot", "url")) == len(FOUND))
    return crawl


def wait_let_go(made: Collection, count: int) -> None:
    """Whoever works on a page is asked to end it, and does so within a second."""
    made.wait("they are let go", lambda: len(made.rows("Snapshot", "pk", status="cancelled")) == count)


def end(made: Collection) -> None:
    (made.root / "go").touch()
    made.wait_sealed()
    made.leave()


@pytest.mark.default
def test_what_is_excluded_is_not_fetched_whether_it_waits_or_runs(forked: Collection) -> None:
    crawl = begin(forked)
    assert forked.actor.ask("exclude", crawl=crawl, pattern="/drop/") == 2
    wait_let_go(forked, 2)
    end(forked)
    assert sorted(forked.ledger) == ["http://one.test/", "http://one.test/keep"]
    dropped = forked.rows("Snapshot", "status", "reason", url__contains="/drop/")
    assert {row["status"] for row in dropped} == {"cancelled"}
    assert {row["reason"] for row in dropped} <= {"denied", "cancelled"}
    refused = {row["code"]: row["sample"] for row in forked.rows("Refused", "code", "sample")}
    assert refused["scheme_refused"] == ["ftp://one.test/file"], "it is said why each was not taken"


def test_a_pattern_that_is_none_changes_nothing(forked: Collection) -> None:
    crawl = forked.add("http://one.test/")
    with pytest.raises(AssertionError, match="not a regular expression"):
        forked.actor.ask("exclude", crawl=crawl, pattern="(")
    assert "URL_DENYLIST" not in forked.row("Crawl", "config")["config"]


def test_a_lower_depth_lets_go_of_what_is_too_deep(forked: Collection) -> None:
    crawl = begin(forked)
    assert forked.actor.ask("limit", crawl=crawl, max_depth=0) == 3
    wait_let_go(forked, 3)
    end(forked)
    assert forked.ledger == ["http://one.test/"]


def test_a_discarded_crawl_leaves_the_lists_and_goes_on_where_it_was(forked: Collection) -> None:
    crawl = begin(forked)
    assert forked.actor.ask("discard", crawl=crawl) == len(FOUND)
    assert not forked.rows("Snapshot", "url", retired_at__isnull=True)
    forked.wait("nothing of it runs", lambda: not forked.rows("Snapshot", "pk", status__in=["queued", "started"]))
    assert forked.actor.ask("go_on", crawl=crawl)
    assert len(forked.rows("Snapshot", "url", retired_at__isnull=True)) == len(FOUND)
    end(forked)
    assert sorted(forked.ledger) == sorted(["http://one.test/", *FOUND[:3]])
