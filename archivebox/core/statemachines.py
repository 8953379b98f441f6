"""The lives of a Snapshot and of an ArchiveResult."""

from typing import ClassVar

from statemachine import State

from archivebox.base_models.transitions import TransitionTable, transition
from archivebox.base_models.work import RELEASE_COLUMNS, REQUEUE_COLUMNS, WorkMachine
from archivebox.contract.outcomes import FINAL_STATUSES
from archivebox.contract.reasons import Reason


class SnapshotMachine(WorkMachine):
    """queued → started → sealed; released, reopened for a retry, paused, cancelled."""

    queued = State(initial=True)
    started = State(enter="queue_hooks")
    sealed = State(enter=["cleanup", "enqueue_sealed_event"])
    paused = State()
    cancelled = State(enter="on_cancelled")

    start = queued.to(started)
    seal = started.to(sealed)
    release = started.to(queued)
    reopen = sealed.to(queued) | cancelled.to(queued)
    pause = queued.to(paused) | started.to(paused)
    resume = paused.to(queued)
    cancel = queued.to(cancelled) | started.to(cancelled) | paused.to(cancelled)

    columns: ClassVar[dict[str, dict[str, object]]] = {
        "reopen": {"current_step": 0, "measured_at": None},
        "release": REQUEUE_COLUMNS,
        "pause": RELEASE_COLUMNS,
        "resume": REQUEUE_COLUMNS,
        "cancel": {**RELEASE_COLUMNS, "reason": Reason.CANCELLED},
    }

    def is_finished(self) -> bool:
        """Whether nothing of the Snapshot is left to run. It only reads."""
        return not (self.model.has_pending_children() or self.model.has_running_background_hooks())


class ArchiveResultMachine(TransitionTable):
    """The life of an ArchiveResult, which the lease of its Snapshot guards.

    A worker commits a start together with a soon end, so that what is queued or waits may end without ``started``.
    """

    start = transition("queued", "backoff", to="started")
    succeed = transition("queued", "started", "backoff", to="succeeded")
    find_nothing = transition("queued", "started", "backoff", to="noresults")
    fail = transition("queued", "started", "backoff", to="failed")
    skip = transition("queued", "started", "backoff", to="skipped")
    back_off = transition("queued", "started", to="backoff")
    requeue = transition("started", "backoff", "failed", "skipped", "noresults", "succeeded", to="queued")

    FINAL = FINAL_STATUSES
    OPEN = frozenset({"queued", "started"})
    BY_STATUS: ClassVar[dict[str, str]] = {
        "started": "start",
        "succeeded": "succeed",
        "noresults": "find_nothing",
        "failed": "fail",
        "skipped": "skip",
        "backoff": "back_off",
        "queued": "requeue",
    }
