"""One run of one hook: started or adopted, listened to, ended, and put on record."""

import asyncio
import logging
import os
import shlex
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol
from uuid import UUID

from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason, Record
from archivebox.core.archiveresult import Declaration
from archivebox.hooks import HookCall
from archivebox.lib import processes
from archivebox.lib.jsonl import JSON
from archivebox.lib.processes import UNSEEN, Child, ExitStatus, Launch, Tree
from archivebox.lib.processes.exits import NO_ROOM
from archivebox.machine.logtail import read_tail
from archivebox.machine.process import Process
from archivebox.machine.process_row import end_reason_of, exited_columns, started_columns
from archivebox.storage.layout import hook_file
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.hook_output import HookOutput
from archivebox.workers.queue.quarantine import folder_unusable, is_of_folder

log = logging.getLogger(__name__)

ROOT_FIRST = 2.0
"""Seconds that a background hook has at the end to wind its programs down in order, before they are told as well."""


class Owner(Protocol):
    """Whose hook it is: told of everything that happens to it."""

    def hook_is_ready(self, run: "HookProcess") -> None: ...
    def hook_printed(self, run: "HookProcess", records: list[Record]) -> None: ...
    def hook_ended(self, run: "HookProcess") -> None: ...


class HookProcess:
    """One process of one hook. ``ended`` is set once its status is known and its output read to the end."""

    def __init__(
        self, engine: Engine, owner: Owner, call: HookCall, work: dict[str, UUID], process_id: UUID | None = None
    ) -> None:
        self.engine = engine
        self.owner = owner
        self.call = call
        self.hook = call.hook
        self.work = work
        self.process_id = process_id or new_id()
        self.mark = str(self.process_id)
        self.output = HookOutput(self._file("stdout.log"), engine.output_max)
        self.stderr_path = self._file("stderr.log")
        self.pass_fds: tuple[int, ...] = ()
        self.child: Child | None = None
        self.status: ExitStatus | None = None
        self.started_at: datetime | None = None
        self.ended_at: datetime | None = None
        self.end_reason: EndReason | None = None
        self.ended_unwatched = False
        """Whether it ended while no worker had it."""
        self.is_ready = False
        self.ended = False
        self.taken_over = False
        self.failure: OSError | None = None
        self.refusal = ""
        """The reason code, where it could not be started."""
        self.stderr = ""
        """The end of what it printed for people, once it has ended."""
        self._deadline: asyncio.TimerHandle | None = None
        self.deadline = engine.loop.time()
        """Loop time at which its own timeout is over."""
        self._ending: asyncio.Task[None] | None = None

    def _file(self, suffix: str) -> Path:
        return hook_file(self.call.object_dir, self.hook.file_name, self.mark, suffix)

    @property
    def declared(self) -> Declaration | None:
        """What it said of its own result so far."""
        return self.output.declared

    # --- starting ---------------------------------------------------------------------------------------------

    def start(self) -> bool:
        """Start it; False when it could not be (``refusal`` says why): it has ended then, and is on record."""
        columns = self._columns()
        self.engine.starter.intent(self.mark, _as_json(columns))
        self.started_at = timezone.now()
        try:
            self._make_folders()
        except OSError as error:
            refusal = folder_unusable(error) if is_of_folder(error) else _could_not_start(error)
            return self._refuse(error, refusal, columns)
        try:
            self.child = self.engine.starter.spawn(self._launch())
        except OSError as error:
            return self._refuse(error, _could_not_start(error), columns)
        identity = self.child.identity
        self.engine.starter.started(self.mark, identity)
        self.engine.journal.insert(Process, self.process_id, columns | started_columns(identity, self.started_at))
        self.engine.journal.after_commit(self.engine.starter.committed)
        self._write_pid(identity.pid)
        self._listen(self.call.timeout)
        return True

    def adopt(self, row: Process) -> bool:
        """Go on with a process that an earlier worker started; False when it is gone without a trace."""
        identity = row.identity
        self.taken_over = True
        self.started_at = row.started_at
        self.output.go_on_from(row.stdout_offset)
        if identity is None:
            return False
        self.ended_unwatched = not identity.is_alive() or identity.is_zombie()
        record = DATA_FOLDER.exit_record(identity.pid, identity.start_ticks)
        self.child = processes.adopt(str(row.pk), identity, record)
        if self.child is None:
            return False
        if self.hook.ready and row.stdout_offset:
            self.is_ready = True
        self._listen(max(0.0, self.call.timeout - identity.age()))
        return True

    def recall(self, row: Process) -> None:
        """Take over a run that has ended while nobody judged it, from its row and its log."""
        self.started_at, self.ended_at = row.started_at, row.ended_at
        self.ended = self.taken_over = self.ended_unwatched = True
        self.status = ExitStatus(row.exit_code)
        self.end_reason = EndReason(row.end_reason) if row.end_reason else None
        self.stderr = row.stderr
        self.output.go_on_from(row.stdout_offset)
        self._read_to_end()

    def _columns(self) -> dict[str, object]:
        return {
            "machine_id": self.engine.machine_id,
            "parent_id": self.engine.process_id,
            "process_type": Process.TypeChoices.HOOK,
            "plugin": self.hook.plugin,
            "hook_name": self.hook.file_name,
            "cmd": list(self.call.argv),
            "pwd": str(self.call.cwd),
            "env": self.call.env_names,
            "timeout": self.call.timeout,
            **self.work,
        }

    def _make_folders(self) -> None:
        for folder, mode in ((self.call.cwd, 0o777), (self.output.path.parent, 0o700)):
            if not os.path.isdir(folder):  # noqa: PTH112 - pathlib's way costs four times as much, for every hook
                folder.mkdir(mode, parents=True, exist_ok=True)
        if self.hook.background:
            self._file("cmd.sh").write_text(
                f"#!/bin/sh\ncd {shlex.quote(str(self.call.cwd))}\n{shlex.join(self.call.argv)}\n"
            )

    def _launch(self) -> Launch:
        return Launch(
            process_id=self.mark,
            argv=self.call.argv,
            cwd=self.call.cwd,
            env={**self.call.env, processes.MARK: self.mark},
            stdout=self.output.path,
            stderr=self.stderr_path,
            script=self.hook.path if self.hook.fork else None,
            file_size_limit=self.engine.file_max,
            pass_fds=self.pass_fds,
        )

    def _listen(self, seconds: float) -> None:
        if self.child is None:
            return
        try:
            self.engine.outputs.watch(self.output.path, self.read, at_once=self.hook.ready)
        except OSError as error:  # it was quick to do away with its own log
            log.warning("The output of %s is read at its end: %s action=output_unwatched", self.hook.file_name, error)
        if self.hook.ready or self.taken_over:
            self.engine.loop.call_soon(self._read_on)  # what it said before it was watched
        self.deadline = self.engine.loop.time() + seconds
        if self.hook.has_deadline:
            self._deadline = self.engine.loop.call_at(self.deadline, self._timed_out)
        self.engine.exits.watch(self.child, self._exited)

    def _write_pid(self, pid: int) -> None:
        if not self.hook.background:
            return
        try:
            self._file("pid").write_text(f"{pid}\n")
        except OSError as error:  # it runs, and may have done away with the folder already
            log.warning("No pid file for %s: %s action=pid_file_failed", self.hook.file_name, error)

    def _refuse(self, error: OSError, refusal: str, columns: dict[str, object]) -> Literal[False]:
        if error.errno in NO_ROOM:
            raise error  # no fault of the hook's: whoever takes its page when there is room starts it
        self.failure, self.refusal = error, refusal
        self.ended = True
        now = timezone.now()
        ended = exited_columns(UNSEEN, EndReason.EXITED, now) | {"started_at": now, "stderr": str(error)}
        self.engine.journal.insert(Process, self.process_id, columns | ended)
        self.engine.journal.after_commit(self.engine.starter.committed)
        return False

    # --- listening --------------------------------------------------------------------------------------------

    def read(self) -> None:
        """Read what is new in its stdout, and hand over the records in it."""
        records, more = self.output.read()
        if more:
            self.engine.loop.call_soon(self._read_on)  # let others have their turn
        if self.output.overflows:
            self.stop(EndReason.SIGNALLED, 0.0)
        self._hand_over(records)

    def _read_on(self) -> None:
        """Read unless it has ended meanwhile: then all has been read, and the log is closed."""
        if not self.ended:
            self.read()

    def _read_to_end(self) -> None:
        self._hand_over(self.output.read_to_end())
        last = self.output.close()
        if last:
            self.owner.hook_printed(self, last)

    def _hand_over(self, records: list[Record]) -> None:
        if self.hook.ready and not self.is_ready and self.output.offset:
            self.is_ready = True
            self.owner.hook_is_ready(self)
        if records:
            self.owner.hook_printed(self, records)

    @property
    def offset(self) -> int:
        """Bytes of stdout whose lines have been read completely."""
        return self.output.offset

    # --- ending -----------------------------------------------------------------------------------------------

    def stop(self, reason: EndReason, grace: float) -> None:
        """End its whole tree: TERM, grace, KILL. The first reason stays; a second call only shortens nothing."""
        if self.ended or self._ending is not None:
            return
        if self.child is not None and self.child.peek() is not None:
            return  # it has ended by itself, which we are about to be told
        self.end_reason = reason
        self._ending = self.engine.in_background(self._end_tree(grace))

    async def _end_tree(self, grace: float) -> None:
        listens = self.end_reason is EndReason.SEALED and self.hook.background
        alone = min(ROOT_FIRST, grace / 2) if listens else 0.0
        await self.tree().end(grace=grace, root_first=alone)

    def tree(self) -> Tree:
        root = self.child.identity if self.child is not None else None
        return Tree(root=root, process_id=self.mark, data_dir=DATA_FOLDER.root, reapers=(os.getpid(),))

    def _timed_out(self) -> None:
        self.stop(EndReason.TIMEOUT, self.engine.stop_grace)

    def _exited(self, child: Child, status: ExitStatus) -> None:
        self.status = status
        self.ended = True
        self.ended_at = timezone.now()
        if self._deadline is not None:
            self._deadline.cancel()
        self.engine.outputs.unwatch(self.output.path)
        self._read_to_end()
        self.engine.journal.update(Process, self.process_id, self._end_columns(status))
        self.owner.hook_ended(self)
        self.engine.journal.after_commit(child.reap)  # its status stays with the kernel until the row is committed

    def final_reason(self) -> EndReason:
        """Why it ended: what we did to it, else what the kernel says."""
        return self.end_reason or end_reason_of(None if self.status is None else self.status.exit_code)

    def _end_columns(self, status: ExitStatus) -> dict[str, object]:
        self.stderr, stderr_size = read_tail(self.stderr_path)
        return exited_columns(status, self.end_reason, self.ended_at) | {
            "stdout": self.output.tail,
            "stdout_size": self.output.size,
            "stderr": self.stderr,
            "stderr_size": stderr_size,
            "output_cut": self.output.cut,
        }


def _could_not_start(error: OSError) -> str:
    return Reason.COULD_NOT_START.of(str(error)[:100])


def _as_json(columns: dict[str, object]) -> dict[str, JSON]:
    """The columns that a row cannot do without, should it have to be made from the spawn log."""
    return {
        name: value if isinstance(value, int | list | str) else str(value)
        for name, value in columns.items()
        if name != "env"
    }
