"""One process of one hook: started or adopted, and ended with its whole tree."""

import asyncio
import errno
import logging
import math
import os
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal, Protocol
from uuid import UUID

from django.utils import timezone

from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.outcomes import BY_TERM, EndedRun
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason, Record
from archivebox.core.archiveresult import ended_run_of
from archivebox.core.outputs.output_files import ALL, Claim, Listing, files_before, list_few_outputs, list_outputs
from archivebox.hooks import HookCall, environment_of_process
from archivebox.lib import processes
from archivebox.lib.machine_load import LONGEST, extended, seconds_delayed
from archivebox.lib.processes import Child, ExitStatus, Launch, Tree
from archivebox.lib.processes.exits import NO_ROOM
from archivebox.machine.process import Process
from archivebox.storage.layout import hook_file
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.hooks.listener import OutputListener
from archivebox.workers.execute.hooks.row import HookRow
from archivebox.workers.execute.hooks.warm_hook import WarmHook
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.quarantine import folder_unusable, is_of_folder

log = logging.getLogger(__name__)

ROOT_FIRST = 2.0
"""Seconds that a background hook has at the end to wind its programs down in order, before they are told as well."""
LISTENS_AFTER = 1.0
"""Seconds that a background hook has at least until it is told to stop, where nothing says that it handles TERM: more
on a busy machine. One that dies of TERM before it has its handler would be taken for a download from then on."""
TOLD_TOGETHER = 1.0
"""Seconds in which we learn that we are told to stop, too, by whoever ended a hook: a shutdown tells all at once."""


class Owner(Protocol):
    """Whose hook it is: told of everything that happens to it."""

    lease: Lease

    def hook_is_ready(self, run: "HookProcess") -> None: ...
    def hook_printed(self, run: "HookProcess", records: list[Record]) -> bool: ...
    def hook_exited(self, run: "HookProcess") -> None: ...
    def hook_ended(self, run: "HookProcess") -> None: ...
    def runs_in_folder_of(self, run: "HookProcess") -> "list[HookProcess]":
        """Runs of its plugin's hooks in this worker's hands: a hook that is tried again alone has its folder alone."""


class HookProcess:
    """One process of one hook. ``ended`` is set once its status is known and its output read to the end.

    ``row`` is what is on record of it; ``listener`` reads what it prints.
    """

    def __init__(
        self, engine: Engine, owner: Owner, call: HookCall, work: dict[str, UUID], process_id: UUID | None = None
    ) -> None:
        self.engine = engine
        self.owner = owner
        self.call = call
        self.hook = call.hook
        self.work = work
        self.row = HookRow(engine, process_id)
        self._files = hook_file(call.object_dir, self.hook.file_name, self.row.mark, "")
        self.listener = OutputListener(self, self._files)
        self.output = self.listener.output
        self.pass_fds: tuple[int, ...] = ()
        self.warm: WarmHook | None = None
        """Its process, where that was started ahead."""
        self.child: Child | None = None
        self.ended_unwatched = False
        """Whether it ended while no worker had it."""
        self.is_ready = False
        self.ended = False
        self.failure: OSError | None = None
        self.refusal = ""
        """The reason code, where it could not be started."""
        self.listing = Listing()
        """What lies in its plugin's folder, once it has ended."""
        self.deadline = engine.loop.time()
        """Loop time at which its own timeout is over."""
        self._taken_over = False
        self._killed_early = False
        """Whether somebody else killed it after we had told it to stop."""
        self._before: dict[str, float] | None = None
        """What lay in a folder that it shares when it was started by us."""
        self._timeout: asyncio.TimerHandle | None = None
        self._extended_to = float(call.timeout)
        """Seconds that its timeout has become on a busy machine."""
        self._launched_at: float | None = None
        """Loop time at which we have started it."""
        self._ending: asyncio.Task[None] | None = None
        self._kills_at = self.deadline
        """Loop time from which on we kill it, once it has been told to stop."""
        self._is_hurried = False
        """Whether it got less time to end after it had been told to stop."""

    # --- starting ---------------------------------------------------------------------------------------------

    def start(self) -> bool:
        """Start it; False when it could not be (``refusal`` says why): it has ended then, and is on record."""
        self.row.announce(self.call, self.work)
        try:
            self._make_folders()
            self._before = files_before(self.call.cwd) if len(self.owner.runs_in_folder_of(self)) > 1 else None
            launch = self._launch()
            self._write("cmd.sh", launch.as_script())
        except OSError as error:
            refusal = folder_unusable(error) if is_of_folder(error) else _could_not_start(error)
            return self._refuse(error, refusal)
        try:
            self.child = self._spawn(launch)
        except OSError as error:
            return self._refuse(error, _could_not_start(error))
        self.row.record_start(self.child.identity)
        self._extended_to = extended(self.call.timeout)
        self._watch_end(self.child, self._extended_to)
        self._launched_at = self.engine.loop.time()
        if self.hook.background or self.hook.ready:  # others of the page may look for it, or wait for its word
            self._attend(self.child)
        else:
            self.engine.attended.add(self, partial(self._attend, self.child))
        return True

    def adopt(self, row: Process) -> bool:
        """Go on with a process that an earlier worker started; False when it is gone without a trace."""
        identity = row.identity
        self._taken_over = True
        self.row.started_at = row.started_at
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
        self._taken_over = self.ended_unwatched = True
        self.row.recall(row)
        self.output.go_on_from(row.stdout_offset, row.declared)
        self.output.ends_here()
        self.engine.loop.call_soon(self.listener.read)

    def _make_folders(self) -> None:
        runs = self._files.rpartition("/")[0]
        if os.path.islink(runs):  # noqa: PTH114 - for every hook; a hook put it there, and we would write where it leads
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), runs)
        for folder, mode in ((self.call.cwd, 0o777), (runs, 0o700)):
            if not os.path.isdir(folder):  # noqa: PTH112 - pathlib's way costs four times as much, for every hook
                DATA_FOLDER.make_folder(Path(folder), mode)

    def _write(self, suffix: str, text: str) -> None:
        """A small file beside its logs; without pathlib and text layer, which cost three times as much."""
        descriptor = os.open(self._files + suffix, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, os.fsencode(text))
        finally:
            os.close(descriptor)

    def _spawn(self, launch: Launch) -> Child:
        if self.warm is not None:
            return self.warm.hand_over(launch)
        return self.engine.starter.spawn(launch, self.hook.preload)

    def _launch(self) -> Launch:
        return Launch(
            process_id=self.row.mark,
            argv=self.call.argv,
            cwd=self.call.cwd,
            env=environment_of_process(self.call.env, self.row.mark),
            stdout=self.output.path,
            stderr=self.listener.errors.path,
            script=self.hook.path if self.hook.fork else None,
            file_size_limit=self.call.file_max,
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
        self.listener.attend()

    def _write_pid(self, pid: int) -> None:
        try:
            self._write("pid", f"{pid}\n")
        except OSError as error:  # it runs, and may have done away with the folder already
            log.warning("No pid file for %s: %s action=pid_file_failed", self.hook.file_name, error)

    def _refuse(self, error: OSError, refusal: str) -> Literal[False]:
        if error.errno in NO_ROOM:
            raise error  # no fault of the hook's: whoever takes its page when there is room starts it
        self.failure, self.refusal = error, refusal
        self.ended = True
        self.row.record_refusal(error)
        return False

    # --- what it prints ---------------------------------------------------------------------------------------

    def on_records(self, records: list[Record]) -> bool:
        """Hand over the records of one read; whether the database gets something of them."""
        if self.hook.ready and not self.is_ready and self.output.offset:
            self.is_ready = True
            self.owner.hook_is_ready(self)
        is_written = bool(records) and self.owner.hook_printed(self, records)
        if self.output.is_full:
            self.stop(EndReason.SIGNALLED, self.engine.stop_grace)
        return is_written

    # --- ending -----------------------------------------------------------------------------------------------

    def stop(self, reason: EndReason, grace: float) -> None:
        """End its whole tree: TERM, grace, KILL. The first reason stays; a second call shortens nothing."""
        if self.row.status is not None or self.ended or self._ending is not None:
            return
        if self.child is not None and self.child.ended:
            return  # it has ended by itself, which we are about to be told
        self.row.end_reason = reason
        self._kills_at = self._tells_at() + grace
        self._ending = self.engine.in_background(self._end_tree(grace))

    def stop_within(self, reason: EndReason, grace: float) -> None:
        """As ``stop``; a tree that was told to end before and has longer gets no more than this from now on."""
        self.stop(reason, grace)
        kills_at = self.engine.loop.time() + grace
        if self._ending is not None and not self._ending.done() and kills_at < self._kills_at:
            self._kills_at, self._is_hurried = kills_at, True
            self.engine.loop.call_at(kills_at, self._kill_if_ending, self._ending)

    def _kill_if_ending(self, ending: "asyncio.Task[None]") -> None:
        """Whoever ends the tree sees it go."""
        if not ending.done():
            self.engine.in_background(self._kill_tree())

    async def _kill_tree(self) -> None:
        await self.tree().end(grace=0.0)

    def _tells_at(self) -> float:
        """Loop time from which on it may be told to stop, as far as is known now of the processors it has had."""
        now = self.engine.loop.time()
        is_cut_off = self.row.end_reason is EndReason.SEALED and self.hook.may_be_cut_off
        if self._launched_at is None or not is_cut_off or now >= self._launched_at + LISTENS_AFTER * LONGEST:
            return now
        seconds = LISTENS_AFTER if self._is_hurried else extended(LISTENS_AFTER, self._seconds_delayed())
        return max(now, self._launched_at + seconds)

    async def _end_tree(self, grace: float) -> None:
        while (seconds := self._tells_at() - self.engine.loop.time()) > 0:
            await asyncio.sleep(min(seconds, LISTENS_AFTER))
            if not self._is_hurried:
                self._kills_at = self._tells_at() + grace
        listens = self.row.end_reason is EndReason.SEALED and self.hook.background
        grace = max(0.0, self._kills_at - self.engine.loop.time())
        alone = min(ROOT_FIRST, grace / 2) if listens else 0.0
        await self.tree().end(grace=grace, root_first=alone)

    def tree(self) -> Tree:
        root = self.child.identity if self.child is not None else None
        return Tree(root=root, process_id=self.row.mark, data_dir=DATA_FOLDER.root, reapers=(os.getpid(),))

    def _timed_out(self) -> None:
        """End it, unless it has not had a processor for all that time, which its timeout is meant for."""
        seconds = extended(self.call.timeout, self._seconds_delayed())
        if seconds > self._extended_to:
            self.deadline += seconds - self._extended_to
            self._extended_to = seconds
            self._timeout = self.engine.loop.call_at(self.deadline, self._timed_out)
            return
        self.stop(EndReason.TIMEOUT, self.engine.stop_grace)

    def _seconds_delayed(self) -> int:
        """For how long that process of its tree was ready to run that others kept from it the longest."""
        members = self.tree().members() if self.child is not None else ()
        return max((seconds_delayed(member.pid) for member in members), default=0)

    def _exited(self, child: Child, status: ExitStatus) -> None:
        del child
        self.row.status = status
        self.row.ended_at = timezone.now()
        self.owner.hook_exited(self)
        self._killed_early = status.exit_code == -signal.SIGKILL and self.engine.loop.time() < self._kills_at
        self.engine.attended.discard(self)
        if self._timeout is not None:
            self._timeout.cancel()
        self.listener.stop_at_end()
        if self._ending is not None and not self._ending.done():  # its programs may write yet, and are told once
            self.listener.pause()
            self._ending.add_done_callback(lambda _: self.listener.resume())
        elif self._died_of_others_term and not self._taken_over:
            self.listener.pause()
            self.engine.loop.call_later(TOLD_TOGETHER, self.listener.resume)
        else:
            self.listener.read()

    @property
    def _died_of_others_term(self) -> bool:
        """Whether TERM has ended it that was not ours."""
        return self.row.end_reason is None and self.row.exit_code in BY_TERM

    def on_output_read(self) -> None:
        """All of its output is read: see what lies in its folder, and end. Much is listed beside everything else."""
        files = list_few_outputs(self.call.cwd, self._claim())
        if files is None:
            self.listener.pause()
            self.engine.in_background(self._list_many())
        else:
            self._end(files)

    async def _list_many(self) -> None:
        self._end(await self.engine.beside(list_outputs, self.call.cwd, self._claim()))

    def _claim(self) -> Claim:
        """Which files of its plugin's folder are its own."""
        runs, began = self.owner.runs_in_folder_of(self), self.row.started_at
        if began is None or len(runs) == 1:
            return ALL
        if not self.hook.background:
            return Claim(self.hook.name.what, self._before, began.timestamp())
        rows = [run.row for run in runs if run is not self]
        others = [row for row in rows if row.ended_at is None or row.ended_at >= began]
        until = min((row.started_at.timestamp() for row in others if row.started_at is not None), default=math.inf)
        return Claim(self.hook.name.what, self._before, began.timestamp(), until)

    def _end(self, files: Listing) -> None:
        """It has ended, all of its output is read, and its files are listed."""
        self.listing = files
        if self._died_of_others_term and self.engine.stopping:
            self.row.end_reason = EndReason.SEALED  # as we would have done ourselves
        self.ended = True
        if last := self.output.close():
            self.owner.hook_printed(self, last)
        self.listener.close()
        with suppress(OSError):  # its folder was in its hands
            os.unlink(f"{self._files}pid")  # noqa: PTH108 - for every hook
        self.row.record_end(self.listener)
        self.owner.hook_ended(self)
        if self.child is not None:  # its status stays with the kernel until the row is committed
            self.engine.journal.after_commit(self.child.reap)

    def ended_run(self, *, released: bool = False) -> EndedRun:
        """What the contract's table of outcomes asks of a run; ``released``: its object was given back meanwhile."""
        return ended_run_of(
            self.hook,
            self.output.declared,
            self.listing,
            exit_code=self.row.exit_code,
            end_reason=self.row.final_reason,
            stderr=self.row.stderr,
            taken_over=self._taken_over,
            unwatched=self.ended_unwatched,
            killed_early=self._killed_early,
            released=released,
        )


def _could_not_start(error: OSError) -> str:
    return Reason.COULD_NOT_START.of(str(error)[:100])
