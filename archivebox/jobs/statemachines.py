"""The life of a Job."""

from typing import ClassVar

from statemachine import State

from archivebox.base_models.work import RELEASE_COLUMNS, REQUEUE_COLUMNS, WorkMachine


class JobMachine(WorkMachine):
    """queued → started → sealed; released by a worker that stops; paused, resumed and cancelled by people.

    An import is paused by its worker, too, when the disk is full.
    """

    queued = State(initial=True)
    started = State()
    sealed = State(final=True, enter=["enqueue_finished_event", "clear_away"])
    paused = State()
    cancelled = State(final=True, enter="clear_away")

    start = queued.to(started)
    seal = queued.to(sealed) | started.to(sealed)
    release = started.to(queued)
    pause = queued.to(paused) | started.to(paused)
    resume = paused.to(queued)
    cancel = queued.to(cancelled) | started.to(cancelled) | paused.to(cancelled)

    columns: ClassVar[dict[str, dict[str, object]]] = {
        "seal": RELEASE_COLUMNS,
        "release": REQUEUE_COLUMNS,
        "pause": RELEASE_COLUMNS,
        "resume": {**REQUEUE_COLUMNS, "problem": ""},
        "cancel": RELEASE_COLUMNS,
    }
