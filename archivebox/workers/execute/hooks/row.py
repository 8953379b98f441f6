"""Owns the row of one run of a hook: what it says from the start on, and from the end on."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.contract.records import EndReason
from archivebox.hooks import HookCall
from archivebox.lib.jsonl import JSON
from archivebox.lib.processes import UNSEEN, ExitStatus, ProcessIdentity
from archivebox.machine.process import Process
from archivebox.machine.process_row import end_reason_of, exited_columns, started_columns

if TYPE_CHECKING:
    from archivebox.workers.execute.engine import Engine
    from archivebox.workers.execute.hooks.listener import OutputListener


class HookRow:
    """One Process row, written through the journal; before that, the spawn log has it."""

    def __init__(self, engine: "Engine", process_id: UUID | None = None) -> None:
        self.process_id = process_id or new_id()
        self.mark = str(self.process_id)
        self.started_at: datetime | None = None
        self.ended_at: datetime | None = None
        self.end_reason: EndReason | None = None
        """What we ended it for; None: nobody here has."""
        self.status: ExitStatus | None = None
        self.stderr = ""
        """The end of what it printed for people, once it has ended."""
        self._engine = engine
        self._is_on_record = process_id is not None
        self._columns: dict[str, object] = {}
        self._is_final = False

    @property
    def exit_code(self) -> int | None:
        return None if self.status is None else self.status.exit_code

    @property
    def final_reason(self) -> EndReason:
        """Why it ended: what we did to it, else what the kernel says."""
        return self.end_reason or end_reason_of(self.exit_code)

    def announce(self, call: HookCall, work: Mapping[str, object]) -> None:
        """Say in the spawn log that it is about to be started."""
        self._columns = {
            "machine_id": self._engine.machine_id,
            "parent_id": self._engine.process_id,
            "process_type": Process.TypeChoices.HOOK,
            "worker_type": "",
            "plugin": call.hook.plugin,
            "hook_name": call.hook.file_name,
            "cmd": list(call.argv),
            "pwd": str(call.cwd),
            "env": call.env_names,
            "timeout": call.timeout,
            **work,
        }
        self._engine.starter.intent(self.mark, _as_json(self._columns))
        self.started_at = timezone.now()

    def record_start(self, identity: ProcessIdentity) -> None:
        """Put on record who it became."""
        self._engine.starter.started(self.mark, identity)
        self._write(started_columns(identity, self.started_at))

    def record_refusal(self, error: OSError) -> None:
        """Put on record that it could not be started."""
        now = timezone.now()
        self._write(exited_columns(UNSEEN, EndReason.EXITED, now) | {"started_at": now, "stderr": str(error)})

    def _write(self, columns: dict[str, object]) -> None:
        write = self._engine.journal.update if self._is_on_record else self._engine.journal.insert
        write(Process, self.process_id, self._columns | columns)
        self._engine.journal.after_commit(self._engine.starter.committed)

    def recall(self, row: Process) -> None:
        """Take over what an earlier worker, or whoever reaped it, put on record of its end."""
        self.started_at, self.ended_at = row.started_at, row.ended_at
        self.status, self.stderr = ExitStatus(row.exit_code), row.stderr
        self.end_reason = EndReason(row.end_reason) if row.end_reason else None
        self._is_final = True

    def record_end(self, listener: "OutputListener") -> None:
        """Put its end on record, with the ends of what it printed."""
        if self._is_final or self.status is None:
            return
        self.stderr, stderr_size = listener.errors.tail()
        columns = exited_columns(self.status, self.end_reason, self.ended_at) | {
            "stdout": listener.output.tail,
            "stdout_size": listener.output.size,
            "stderr": self.stderr,
            "stderr_size": stderr_size,
            "output_cut": listener.output.is_beyond_cap or listener.errors.cut,
        }
        self._engine.journal.update(Process, self.process_id, columns)


def _as_json(columns: dict[str, object]) -> dict[str, JSON]:
    """The columns that a row cannot do without, should it have to be made from the spawn log."""
    return {
        name: value if isinstance(value, int | list | str) else str(value)
        for name, value in columns.items()
        if name != "env"
    }
