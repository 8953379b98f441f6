"""Owns what differs between kinds of objects whose hooks are run: when one may start, and what its end means."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Protocol
from uuid import UUID

from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.outcomes import Outcome
from archivebox.contract.records import Record
from archivebox.workers.execute.hooks.process import HookProcess
from archivebox.workers.execute.steps.schedule import Planned


class HookRules(ABC):
    """What the hooks of one object wait for, and what becomes of their records."""

    @abstractmethod
    def work_of(self, item: Planned) -> dict[str, UUID]:
        """The columns by which a Process row names the work it served."""

    @abstractmethod
    def on_steps_ended(self) -> None:
        """Every step is over; background hooks may still run. Called after each event from then on."""

    @abstractmethod
    def ingest_records(self, run: HookProcess, records: Sequence[Record]) -> bool:
        """Records a hook printed, other than of its own result; False: all of them are left out."""

    def before_step(self) -> None:  # noqa: B027 - only pages say where they are
        """A step has begun."""

    def on_hook_waiting(self, item: Planned) -> None:  # noqa: B027 - only pages hold more than a slot
        """A hook waits for somebody else's server, and takes nothing of the machine: its slot is free already."""

    def facts_pending(self, item: Planned) -> bool:
        """Whether it cannot be said yet if a hook applies."""
        del item
        return False

    def skip_reason(self, item: Planned) -> str | None:
        """The reason code by which a hook is skipped without a process; None: it applies."""
        del item
        return None

    def must_wait(self, item: Planned) -> bool:
        """Whether a hook whose turn it is has to wait for something that only this kind of object knows."""
        del item
        return False

    def programs_before(self, item: Planned) -> Iterable[BinaryRequest]:
        """Programs that earlier hooks have requested for this one, which also runs without them."""
        del item
        return ()


class HookResults(Protocol):
    """What is put on record of the hooks of one object."""

    def hook_started(self, item: Planned, run: HookProcess) -> None:
        """A hook is about to be started."""

    def settle(self, item: Planned, result: Outcome, reason: str = "") -> None:
        """Put the outcome of a hook on record and set ``item.status``."""

    def settle_run(self, item: Planned, run: HookProcess) -> None:
        """A hook's process has ended: judge it."""
