"""Who works: how many workers there are, and from when on."""

import os
from datetime import datetime, timedelta

import pytest

from archivebox.workers.execute.capacity.load import LOOK_EVERY
from archivebox.workers.supervise.orchestrator import OTHERS_AFTER
from tests.integration.engine.driver import Collection

CORES = os.cpu_count() or 1


@pytest.mark.default
def test_for_one_page_there_is_one_worker(forked: Collection) -> None:
    """However long it takes; the page lasts until a while after the moment at which others would have come."""
    forked.settings["WORKERS"] = "3"
    forked.plugin("page", {"on_Snapshot__10_page.sh": f"sleep {OTHERS_AFTER + 1}\n"})
    forked.run(forked.add())
    assert len(started(forked, worker_type="worker")) == 1


def test_the_first_worker_is_alone_at_first(forked: Collection) -> None:
    """By the clock of the rows: what one page needs is not held up by others that start at the same moment."""
    forked.watch_with(3)
    began = started(forked, process_type="orchestrator")[0]
    _, *others = started(forked, worker_type="worker")
    assert len(others) == 2
    assert min(others) - began > timedelta(seconds=OTHERS_AFTER - 0.5)  # its row is a little younger than itself
    forked.leave()


def together(pages: int) -> str:
    """A hook that waits until so many of its kind have begun."""
    here = f'[ "$(grep -c here "$DATA_DIR/ledger")" -ge {pages} ]'
    return f'echo here >> "$DATA_DIR/ledger"\nuntil {here}; do sleep 0.1; done\n'


def add_pages(made: Collection, count: int, hook: str, **settings: str) -> str:
    """With enough tabs and hooks for all at a time, and no number of workers."""
    made.settings |= {"WORKERS": "", "TABS": str(count), "HOOK_CONCURRENCY": str(count), **settings}
    made.plugin("page", {"on_Snapshot__10_page.sh": hook})
    return made.add(*[f"http://site{number}.test/" for number in range(count)])


def test_pages_that_one_worker_keeps_up_with_bring_no_other(forked: Collection) -> None:
    """While it is alone, all places are its own. The pages last until others would have come."""
    until_others_would_come = f"sleep {OTHERS_AFTER + 2 * LOOK_EVERY + 1}\n"
    forked.run(add_pages(forked, 3, together(3) + until_others_would_come, SNAPSHOTS_IN_FLIGHT="3"))
    assert len(started(forked, worker_type="worker")) == 1


@pytest.mark.skipif(CORES == 1, reason="one core has one worker")
def test_another_worker_comes_when_one_may_hold_no_more_pages(forked: Collection) -> None:
    """One page more than all workers would hold if each had one, which is what the first has while it is alone."""
    forked.run(add_pages(forked, CORES + 1, together(CORES + 1), SNAPSHOTS_IN_FLIGHT="1", TABS="64"))
    assert len({row["parent_id"] for row in forked.hooks("page")}) == 2


def started(made: Collection, **where: str) -> list[datetime]:
    return sorted(datetime.fromisoformat(str(row["started_at"])) for row in made.rows("Process", "started_at", **where))


def test_a_wakeup_file_that_a_hook_removes_is_made_anew(forked: Collection) -> None:
    forked.plugin("removes", {"on_Snapshot__10_removes.sh": 'rm -f "$DATA_DIR/run/doorbell"\n'})
    forked.watch()
    forked.wait_sealed(forked.add("http://one.test/"))
    forked.wait("another", (forked.root / "run" / "doorbell").exists)
    forked.wait_sealed(forked.add("http://two.test/"))
    forked.leave()
    assert len(forked.hooks("removes")) == 2
