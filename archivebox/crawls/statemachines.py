"""The lives of a Crawl and of its runs on each machine."""

from typing import ClassVar

from statemachine import State

from archivebox.base_models.work import RELEASE_COLUMNS, REQUEUE_COLUMNS, WorkMachine


class CrawlMachine(WorkMachine):
    """queued → started → sealed; reopened for a retry or for more work; paused and cancelled from outside."""

    queued = State(initial=True)
    started = State()
    sealed = State(enter=["cleanup", "enqueue_finished_event"])
    paused = State(enter="enqueue_paused_event")
    cancelled = State(enter=["cleanup", "enqueue_cancelled_event"])

    start = queued.to(started)
    seal = started.to(sealed)
    reopen = sealed.to(started)
    pause = queued.to(paused) | started.to(paused)
    resume = paused.to(queued) | cancelled.to(queued)
    cancel = queued.to(cancelled) | started.to(cancelled) | paused.to(cancelled)

    columns: ClassVar[dict[str, dict[str, object]]] = {
        "seal": {"owner": None},
        "pause": RELEASE_COLUMNS,
        "resume": {**REQUEUE_COLUMNS, "reason": ""},
        "cancel": REQUEUE_COLUMNS,  # a cancelled crawl wants one more tick, which cancels its queued Snapshots
    }


class CrawlRunMachine(WorkMachine):
    """A crawl on one machine: queued → started → sealed, and queued again by the next Snapshot."""

    queued = State(initial=True)
    started = State()
    sealed = State(enter="cleanup")

    start = queued.to(started)
    seal = queued.to(sealed) | started.to(sealed)
    requeue = sealed.to(queued) | started.to(queued)

    columns: ClassVar[dict[str, dict[str, object]]] = {
        "seal": {**RELEASE_COLUMNS, "ready_at": None},
        "requeue": {**REQUEUE_COLUMNS, "ready_at": None, "reason": ""},
    }
