"""The lives of a Process and of a Binary."""

from typing import ClassVar

from statemachine import State

from archivebox.base_models.transitions import TransitionTable, transition
from archivebox.base_models.work import RELEASE_COLUMNS, REQUEUE_COLUMNS, WorkMachine


class ProcessMachine(TransitionTable):
    """queued → running → exited."""

    begin = transition("queued", to="running")
    end = transition("queued", "running", to="exited")
    lose = transition("queued", "running", to="exited")


class BinaryMachine(WorkMachine):
    """queued → started → succeeded or failed; both may be asked for again."""

    queued = State(initial=True)
    started = State()
    succeeded = State(enter="cleanup")
    failed = State(enter="cleanup")

    start = queued.to(started) | started.to(started)
    succeed = started.to(succeeded)
    fail = started.to(failed)
    requeue = succeeded.to(queued) | failed.to(queued) | started.to(queued)

    columns: ClassVar[dict[str, dict[str, object]]] = {
        "succeed": {**RELEASE_COLUMNS, "reason": ""},
        "fail": RELEASE_COLUMNS,
        "requeue": {**REQUEUE_COLUMNS, "reason": ""},
    }
