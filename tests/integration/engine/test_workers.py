"""Who works: how many workers there are, and from when on."""

from datetime import datetime, timedelta

from archivebox.workers.supervise.orchestrator import OTHERS_AFTER
from tests.integration.engine.driver import Collection


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


def started(made: Collection, **where: str) -> list[datetime]:
    return sorted(datetime.fromisoformat(str(row["started_at"])) for row in made.rows("Process", "started_at", **where))
