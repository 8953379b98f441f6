"""One run of one hook: started or adopted, listened to, ended, and put on record."""

import asyncio
import errno
import logging
import math
import os
import signal
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Literal, Protocol
from uuid import UUID

from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.outcomes import BY_TERM
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason, Record
from archivebox.core.archiveresult import Declaration
from archivebox.core.outputs.output_files import ALL, Claim, Listing, files_before, list_few_outputs, list_outputs
from archivebox.hooks import HookCall, environment_of_process
from archivebox.lib import processes
from archivebox.lib.jsonl import JSON
from archivebox.lib.machine_load import extended
from archivebox.lib.processes import UNSEEN, Child, ExitStatus, Launch, Tree
from archivebox.lib.processes.exits import NO_ROOM
from archivebox.machine.process import Process
from archivebox.machine.process_row import end_reason_of, exited_columns, started_columns
from archivebox.storage.layout import hook_file
from archivebox.workers.execute.capped_log import CappedLog
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.hook_output import Chunk, HookOutput
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.quarantine import folder_unusable, is_of_folder

log = logging.getLogger(__name__)

ROOT_FIRST = 2.0
"""Seconds that a background hook has at the end to wind its programs down in order, before they are told as well."""
LISTENS_AFTER = 1.0
"""Seconds that a background hook runs at least until it is told to stop, where nothing says that it handles TERM."""
TOLD_TOGETHER = 1.0
"""Seconds in which we learn that we are told to stop, too, by whoever ended a hook: a shutdown tells all at once."""


class Owner(Protocol):
    """Whose hook it is: told of everything that happens to it."""

    lease: Lease

    def hook_is_ready(self, run: "HookProcess") -> None: ...
    def hook_printed(self, run: "HookProcess", records: list[Record]) -> bool: ...
    def hook_ended(self, run: "HookProcess") -> None: ...
    def runs_in_folder_of(self, run: "HookProcess") -> "list[HookProcess]":
        """Runs of its plugin's hooks in this worker's hands: a hook that is tried again alone has its folder alone."""


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
        self._files = hook_file(call.object_dir, self.hook.file_name, self.mark, "")
        self.output = HookOutput(self._file("stdout.log"), engine.output_max, engine.record_limits)
        self.errors = CappedLog(self._file("stderr.log"), engine.output_max)
        self.pass_fds: tuple[int, ...] = ()
        self.child: Child | None = None
        self.status: ExitStatus | None = None
        self.started_at: datetime | None = None
        self.ended_at: datetime | None = None
        self.end_reason: EndReason | None = None
        self.ended_unwatched = False
        """Whether it ended while no worker had it."""
        self.killed_early = False
        """Whether somebody else killed it after we had told it to stop."""
        self.is_ready = False
        self.ended = False
        self.taken_over = False
        self.failure: OSError | None = None
        self.refusal = ""
        """The reason code, where it could not be started."""
        self.stderr = ""
        """The end of what it printed for people, once it has ended."""
        self._before: dict[str, float] | None = None
        """What lay in a folder that it shares when it was started by us."""
        self.listing = Listing()
        """What lies in its plugin's folder, once it has ended."""
        self._timeout: asyncio.TimerHandle | None = None
        self.deadline = engine.loop.time()
        """Loop time at which its own timeout is over."""
        self._extended_to = float(call.timeout)
        """Seconds that its timeout has become on a busy machine."""
        self._listens_at = self.deadline
        """Loop time from which on it may be told to stop, where nothing says that it handles TERM."""
        self._ending: asyncio.Task[None] | None = None
        self._kills_at = self.deadline
        """Loop time from which on we kill it, once it has been told to stop."""
        self.left_out = ""
        """The reason code, where it printed more than is taken."""
        self._is_on_record = False
        """Whether its end is in the database already."""
        self._reads_on = False
        self._discards = False

    def _file(self, suffix: str) -> str:
        return self._files + suffix

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
            self._before = files_before(self.call.cwd) if len(self.owner.runs_in_folder_of(self)) > 1 else None
            launch = self._launch()
            self._write("cmd.sh", launch.as_script())
        except OSError as error:
            refusal = folder_unusable(error) if is_of_folder(error) else _could_not_start(error)
            return self._refuse(error, refusal, columns)
        try:
            self.child = self.engine.starter.spawn(launch, self.hook.preload)
        except OSError as error:
            return self._refuse(error, _could_not_start(error), columns)
        identity = self.child.identity
        self.engine.starter.started(self.mark, identity)
        self.engine.journal.belongs_to(self.owner.lease)
        self.engine.journal.insert(Process, self.process_id, columns | started_columns(identity, self.started_at))
        self.engine.journal.after_commit(self.engine.starter.committed)
        self._extended_to = extended(self.call.timeout)
        self._watch_end(self.child, self._extended_to)
        self._listens_at = self.engine.loop.time() + LISTENS_AFTER
        if self.hook.background or self.hook.ready:  # others of the page may look for it, or wait for its word
            self._attend(self.child)
        else:
            self.engine.attended.add(self, partial(self._attend, self.child))
        return True

    def adopt(self, row: Process) -> bool:
        """Go on with a process that an earlier worker started; False when it is gone without a trace."""
        identity = row.identity
        self.taken_over = True
        self.started_at = row.started_at
        self.output.go_on_from(row.stdout_offset, row.declared)
        if identity is None:
            return False
        self.ended_unwatched = not identity.is_alive() or identity.is_zombie()
        record = DATA_FOLDER.exit_record(identity.pid, identity.start_ticks)
        self.child = processes.adopt(str(row.pk), identity, record)
        if self.child is None:
            return False
        if self.hook.ready and row.stdout_offset:
            self.is_ready = True
        self._watch_end(self.child, max(0.0, self.call.timeout - identity.age()))
        self._attend(self.child)
        return True

    def recall(self, row: Process) -> None:
        """Take over a run that has ended while nobody judged it, from its row and its log; its owner is told later."""
        self.started_at, self.ended_at = row.started_at, row.ended_at
        self.taken_over = self.ended_unwatched = self._is_on_record = True
        self.status = ExitStatus(row.exit_code)
        self.end_reason = EndReason(row.end_reason) if row.end_reason else None
        self.stderr = row.stderr
        self.output.go_on_from(row.stdout_offset, row.declared)
        self.output.ends_here()
        self.engine.loop.call_soon(self.read)

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
        runs = self._files.rpartition("/")[0]
        if os.path.islink(runs):  # noqa: PTH114 - for every hook; a hook put it there, and we would write where it leads
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), runs)
        for folder, mode in ((self.call.cwd, 0o777), (runs, 0o700)):
            if not os.path.isdir(folder):  # noqa: PTH112 - pathlib's way costs four times as much, for every hook
                Path(folder).mkdir(mode, parents=True, exist_ok=True)

    def _write(self, suffix: str, text: str) -> None:
        """A small file beside its logs; without pathlib and text layer, which cost three times as much."""
        descriptor = os.open(self._file(suffix), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, os.fsencode(text))
        finally:
            os.close(descriptor)

    def _launch(self) -> Launch:
        return Launch(
            process_id=self.mark,
            argv=self.call.argv,
            cwd=self.call.cwd,
            env=environment_of_process(self.call.env, self.mark),
            stdout=self.output.path,
            stderr=self.errors.path,
            script=self.hook.path if self.hook.fork else None,
            file_size_limit=self.engine.file_max,
            pass_fds=self.pass_fds,
        )

    def _watch_end(self, child: Child, seconds: float) -> None:
        self.deadline = self.engine.loop.time() + seconds
        self.engine.exits.watch(child, self._exited)

    def _attend(self, child: Child) -> None:
        """It goes on: others find its pid, its output is read while it is written, and its time may run out."""
        self._write_pid(child.identity.pid)
        if self.hook.has_deadline:
            self._timeout = self.engine.loop.call_at(self.deadline, self._timed_out)
        try:
            self.engine.outputs.watch(self.output.path, self.read, at_once=self.hook.ready)
            self.engine.outputs.watch(self.errors.path, self._cap_errors, at_once=False)
        except OSError as error:  # it was quick to do away with its own log
            log.warning("The output of %s is read at its end: %s action=output_unwatched", self.hook.file_name, error)
        self.engine.loop.call_soon(self.read)  # what it said before it was watched

    def _write_pid(self, pid: int) -> None:
        try:
            self._write("pid", f"{pid}\n")
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
        """Read what is new in its stdout, a chunk at a time; once it has ended, to the end of it."""
        if self._reads_on or self.ended:
            return
        chunk = self.output.read()
        is_written = self._take(chunk)
        if self.output.is_beyond_cap and not self._discards:
            self._discard_read()
        if chunk.more:
            self._reads_on = True
            if is_written:  # no more in memory, or in one transaction, than a chunk
                self.engine.journal.after_commit(self._read_on, at_once=True)
            else:
                self.engine.loop.call_soon(self._read_on)  # let others have their turn
        elif self.status is not None:
            self._list_files(self.status)

    def _read_on(self) -> None:
        self._reads_on = False
        self.read()

    def _take(self, chunk: Chunk) -> bool:
        """Hand over the records of one read; whether the database gets something of them."""
        if self.hook.ready and not self.is_ready and self.output.offset:
            self.is_ready = True
            self.owner.hook_is_ready(self)
        is_written = bool(chunk.records) and self.owner.hook_printed(self, chunk.records)
        if self.output.is_full:
            self.stop(EndReason.SIGNALLED, self.engine.stop_grace)
        return is_written

    def _take_last(self) -> None:
        last = self.output.close()
        if last:
            self.owner.hook_printed(self, last)

    def _discard_read(self) -> None:
        """Give back the disk of what was read beyond the cap, once what was said in it is on record."""
        self._discards = True
        self.owner.hook_printed(self, [])
        self.engine.journal.after_commit(partial(self._has_kept, self.output.size))

    def _has_kept(self, upto: int) -> None:
        self._discards = False
        self.output.log.discard(upto)
        self._check_overflow(self.output.log)
        if self.ended:
            self.output.log.close()

    def _cap_errors(self) -> None:
        self.errors.discard_unread()
        self._check_overflow(self.errors)

    def _check_overflow(self, log: CappedLog) -> None:
        if log.overflows:
            self.stop(EndReason.SIGNALLED, 0.0)

    @property
    def offset(self) -> int:
        """Bytes of stdout whose lines have been read completely."""
        return self.output.offset

    # --- ending -----------------------------------------------------------------------------------------------

    def stop(self, reason: EndReason, grace: float) -> None:
        """End its whole tree: TERM, grace, KILL. The first reason stays; a second call shortens nothing."""
        if self.status is not None or self.ended or self._ending is not None:
            return
        if self.child is not None and self.child.peek() is not None:
            return  # it has ended by itself, which we are about to be told
        self.end_reason = reason
        tells_at = self.engine.loop.time()
        if reason is EndReason.SEALED and self.hook.may_be_cut_off:
            tells_at = max(tells_at, self._listens_at)
        self._kills_at = tells_at + grace
        self._ending = self.engine.in_background(self._end_tree(tells_at))

    def stop_within(self, reason: EndReason, grace: float) -> None:
        """As ``stop``; a tree that was told to end before and has longer gets no more than this from now on."""
        self.stop(reason, grace)
        kills_at = self.engine.loop.time() + grace
        if self._ending is not None and not self._ending.done() and kills_at < self._kills_at:
            self._kills_at = kills_at
            self.engine.loop.call_at(kills_at, self._kill_if_ending, self._ending)

    def _kill_if_ending(self, ending: "asyncio.Task[None]") -> None:
        """Whoever ends the tree sees it go."""
        if not ending.done():
            self.engine.in_background(self._kill_tree())

    async def _kill_tree(self) -> None:
        await self.tree().end(grace=0.0)

    async def _end_tree(self, tells_at: float) -> None:
        await asyncio.sleep(tells_at - self.engine.loop.time())
        listens = self.end_reason is EndReason.SEALED and self.hook.background
        grace = max(0.0, self._kills_at - self.engine.loop.time())
        alone = min(ROOT_FIRST, grace / 2) if listens else 0.0
        await self.tree().end(grace=grace, root_first=alone)

    def tree(self) -> Tree:
        root = self.child.identity if self.child is not None else None
        return Tree(root=root, process_id=self.mark, data_dir=DATA_FOLDER.root, reapers=(os.getpid(),))

    def _timed_out(self) -> None:
        """End it, unless the machine has become busy since: its timeout is meant for a processor of its own."""
        seconds = extended(self.call.timeout)
        if seconds > self._extended_to:
            self.deadline += seconds - self._extended_to
            self._extended_to = seconds
            self._timeout = self.engine.loop.call_at(self.deadline, self._timed_out)
            return
        self.stop(EndReason.TIMEOUT, self.engine.stop_grace)

    def _exited(self, child: Child, status: ExitStatus) -> None:
        del child
        self.status = status
        self.ended_at = timezone.now()
        self.killed_early = status.exit_code == -signal.SIGKILL and self.engine.loop.time() < self._kills_at
        self.engine.attended.discard(self)
        if self._timeout is not None:
            self._timeout.cancel()
        self.engine.outputs.unwatch(self.output.path)
        self.engine.outputs.unwatch(self.errors.path)
        self.output.ends_here()
        if self._ending is not None and not self._ending.done():  # its programs may write yet, and are told once
            self._reads_on = True
            self._ending.add_done_callback(lambda _: self._read_on())
        elif self._died_of_others_term and not self.taken_over:
            self._reads_on = True
            self.engine.loop.call_later(TOLD_TOGETHER, self._read_on)
        else:
            self.read()

    @property
    def _died_of_others_term(self) -> bool:
        """Whether TERM has ended it that was not ours."""
        return self.end_reason is None and self.status is not None and self.status.exit_code in BY_TERM

    def _list_files(self, status: ExitStatus) -> None:
        """All of its output is read: see what lies in its folder, and end. Much is listed beside everything else."""
        files = list_few_outputs(self.call.cwd, self._claim())
        if files is None:
            self._reads_on = True
            self.engine.in_background(self._list_many(status))
        else:
            self._end(status, files)

    async def _list_many(self, status: ExitStatus) -> None:
        self._end(status, await self.engine.beside(list_outputs, self.call.cwd, self._claim()))

    def _claim(self) -> Claim:
        """Which files of its plugin's folder are its own."""
        runs, began = self.owner.runs_in_folder_of(self), self.started_at
        if began is None or len(runs) == 1:
            return ALL
        if not self.hook.background:
            return Claim(self.hook.name.what, self._before, began.timestamp())
        others = [run for run in runs if run is not self and (run.ended_at is None or run.ended_at >= began)]
        until = min((run.started_at.timestamp() for run in others if run.started_at is not None), default=math.inf)
        return Claim(self.hook.name.what, self._before, began.timestamp(), until)

    def _end(self, status: ExitStatus, files: Listing) -> None:
        """It has ended, all of its output is read, and its files are listed."""
        self.listing = files
        if self._died_of_others_term and self.engine.stopping:
            self.end_reason = EndReason.SEALED  # as we would have done ourselves
        self.ended = True
        self._take_last()
        self.errors.discard_unread()
        self.errors.close()
        if not self._is_on_record:
            self.engine.journal.belongs_to(self.owner.lease)
            self.engine.journal.update(Process, self.process_id, self._end_columns(status))
        if self.output.is_beyond_cap:
            self.engine.journal.after_commit(partial(self._has_kept, self.output.size))
        else:
            self.output.log.close()
        self.owner.hook_ended(self)
        if self.child is not None:  # its status stays with the kernel until the row is committed
            self.engine.journal.after_commit(self.child.reap)

    def final_reason(self) -> EndReason:
        """Why it ended: what we did to it, else what the kernel says."""
        return self.end_reason or end_reason_of(None if self.status is None else self.status.exit_code)

    def _end_columns(self, status: ExitStatus) -> dict[str, object]:
        self.stderr, stderr_size = self.errors.tail()
        return exited_columns(status, self.end_reason, self.ended_at) | {
            "stdout": self.output.tail,
            "stdout_size": self.output.size,
            "stderr": self.stderr,
            "stderr_size": stderr_size,
            "output_cut": self.output.is_beyond_cap or self.errors.cut,
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
