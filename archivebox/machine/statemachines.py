"""The life of a Binary, drawn as a machine; the life of a Process is the table in :mod:`archivebox.machine.process`."""

from typing import ClassVar

from django.utils import timezone
from statemachine import State

from archivebox.base_models.work import WorkMachine
from archivebox.machine.process import ProcessMachine

__all__ = ["BinaryMachine", "ProcessMachine"]


class BinaryMachine(WorkMachine):
    """queued → started → succeeded or failed; both may be asked for again."""

    queued = State(initial=True)
    started = State()
    succeeded = State()
    failed = State()

    start = queued.to(started) | started.to(started)
    succeed = started.to(succeeded)
    fail = started.to(failed)
    requeue = succeeded.to(queued) | failed.to(queued) | started.to(queued)

    columns: ClassVar[dict[str, dict[str, object]]] = {
        "succeed": {"owner": None, "retry_at": None, "reason": ""},
        "fail": {"owner": None, "retry_at": None},
        "requeue": {"owner": None, "retry_at": timezone.now, "reason": ""},
    }

    def on_enter_started(self) -> None:
        self.model.run()

    def on_enter_succeeded(self) -> None:
        self.model.cleanup()

    def on_enter_failed(self) -> None:
        self.model.cleanup()
