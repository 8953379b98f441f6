"""How a process is started, watched and ended: the synchronous face of :mod:`archivebox.lib.processes`."""

import logging
import math
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from uuid import UUID

import psutil

from archivebox.base_models.transient import OF_DATABASE, retry_transient, transient_problem
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.records import EndReason
from archivebox.lib import processes
from archivebox.lib.processes import UNSEEN, ExitJournal, ExitStatus
from archivebox.machine.host import Machine
from archivebox.machine.logtail import TAIL, read_tail
from archivebox.machine.process_row import IDENTITY, ProcessRow, exited_columns, is_gone

log = logging.getLogger(__name__)

LOST = -1
"""What ``poll`` and ``wait`` answer for a process whose status nobody saw."""
ENDING_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL})
ENDING_TIME = 10.0
"""Seconds that ``kill`` waits for the end of a process that one of these signals usually ends."""
REAPER_TIME = 5.0
"""Seconds that ``wait`` without a limit gives the reaper of an ended process to say how it ended."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Seconds of CPU, and bytes of memory: now, of one that has ended the most it had. None: nobody knows."""

    cpu_seconds: float | None = None
    memory: int | None = None


_children: dict[UUID, processes.Child] = {}
"""What :meth:`StartedProcess.launch` started here and nobody has reaped: any object of the row can wait for it."""


class StartedProcess(ProcessRow):
    """A process that is started, watched and ended from outside."""

    record_patience = math.inf
    """Seconds for the database to take the record of its end; set by whoever ends itself, so that nobody waits."""

    class Meta:
        abstract = True

    # --- starting ---------------------------------------------------------------------------------------------

    def launch(self, background: bool = False, body: Callable[[], int] | None = None) -> Self:
        """Start it. In the foreground: wait, end the whole tree at ``timeout``, and record how it ended.

        ``body``: go on with this function in a forked child, instead of starting ``cmd``. A hook has its command and
        its pid beside its logs as well, for people; of other processes the row alone says them.
        """
        for folder in (Path(self.pwd), self.stdout_file.parent):
            DATA_FOLDER.make_folder(folder)
        if self._state.adding:
            self.save(force_insert=True)  # on record before it can have an effect
        try:
            launch = self.as_launch()
            if self.hook_name:
                self.cmd_file.write_text(launch.as_script(), errors="surrogateescape")
            child = processes.spawn(launch) if body is None else processes.fork(launch, body)
        except OSError as error:
            self._close_unstarted(error)
            raise
        _children[self.pk] = child
        self.set_identity(child.identity)
        self.save(update_fields=[*IDENTITY, "modified_at"])
        if self.hook_name:
            with suppress(OSError):  # it runs, and may have done away with the folder already
                self.pid_file.write_text(f"{self.pid}\n")
        if not background:
            self._wait_in_foreground()
        return self

    def _close_unstarted(self, error: OSError) -> None:
        """Its program, folder or files could not be opened: nothing ran, so that there is no exit code."""
        self.set_columns(exited_columns(UNSEEN, EndReason.LOST) | {"stderr": str(error)[-TAIL:]})
        self.save()

    def _wait_in_foreground(self) -> None:
        try:
            self.wait()
        except TimeoutError:
            self.end_reason = EndReason.TIMEOUT
            self.terminate()

    # --- watching ---------------------------------------------------------------------------------------------

    @property
    def proc(self) -> psutil.Process | None:
        """Psutil's view; None when it is gone, its pid belongs to a stranger, or it is of another machine."""
        identity = self.identity
        if identity is None or self.machine_id != Machine.current().pk or not identity.is_alive():
            return None
        try:
            return psutil.Process(identity.pid)
        except psutil.NoSuchProcess:
            return None

    @property
    def is_running(self) -> bool:
        proc = self.proc
        return proc is not None and self.status != self.StatusChoices.EXITED and not _is_zombie(proc)

    def is_alive(self) -> bool:
        return self.is_running

    @property
    def usage(self) -> Usage:
        """What it has used so far; of one that has ended, what the kernel reported."""
        if self.status == self.StatusChoices.EXITED:
            spent = [seconds for seconds in (self.user_seconds, self.system_seconds) if seconds is not None]
            return Usage(sum(spent) if spent else None, self.max_rss)
        proc = self.proc
        if proc is None:
            return Usage()
        try:
            with proc.oneshot():
                times = proc.cpu_times()
                return Usage(times.user + times.system, proc.memory_info().rss)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return Usage()

    def get_memory_info(self) -> dict[str, int] | None:
        proc = self.proc
        if proc is None:
            return None
        try:
            memory = proc.memory_info()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return None
        return {"rss": memory.rss, "vms": memory.vms}

    def get_cpu_percent(self) -> float | None:
        proc = self.proc
        if proc is None:
            return None
        try:
            return proc.cpu_percent(interval=0.1)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return None

    def get_children_pids(self) -> list[int]:
        proc = self.proc
        if proc is None:
            return []
        try:
            return [child.pid for child in proc.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def poll(self) -> int | None:
        """The exit code; None while it runs, is not started, or its reaper has not read it; -1 if nobody saw it."""
        if self.status == self.StatusChoices.EXITED:
            return LOST if self.exit_code is None else self.exit_code
        if (child := _children.get(self.pk)) is not None:
            seen = child.peek()
            return None if seen is None else self._settle(seen)
        # First the process, then the row: its reaper commits before it reaps, so that a row read after the end is true.
        identity = self.identity
        gone = identity is not None and is_gone(identity)
        self.refresh_from_db()
        if self.status == self.StatusChoices.EXITED:
            return self.poll()
        if identity is None or not gone or self.machine_id != Machine.current().pk:
            return None
        return self._settle(ExitJournal(DATA_FOLDER.exits).read(identity) or UNSEEN)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, at most ``timeout`` seconds (None: the row's). Raises TimeoutError."""
        timeout = self.timeout if timeout is None else timeout
        if (child := _children.get(self.pk)) is not None and self.status != self.StatusChoices.EXITED:
            return self._settle(processes.wait(child, timeout))
        deadline = None if timeout is None else time.monotonic() + timeout
        identity = self.identity
        if identity is not None and self.poll() is None:
            processes.wait_until_gone(identity, timeout)
        return self._wait_for_row(time.monotonic() + REAPER_TIME if deadline is None else deadline)

    def _wait_for_row(self, deadline: float) -> int:
        """A zombie's reaper, or its own machine, still has to say how it ended; no event tells of either."""
        while (code := self.poll()) is None:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"nobody said in time how process {self.pk} (pid {self.pid}) ended")
            time.sleep(0.05)
        return code

    def _settle(self, seen: ExitStatus) -> int:
        """Write down what the kernel reported, then reap."""
        self.settle(seen)
        self.record_end(self.save, self.record_patience)
        with suppress(OSError):
            self.pid_file.unlink(missing_ok=True)
        child = _children.pop(self.pk, None)
        if child is not None:
            child.reap()
        return LOST if self.exit_code is None else self.exit_code

    @staticmethod
    def record_end(work: Callable[[], object], patience: float) -> None:
        """Put an end on record as soon as the database is there, or leave that to the next start after so long."""
        try:
            retry_transient(work, patience=patience)
        except OF_DATABASE as problem:
            if not transient_problem(problem):
                raise
            log.warning("The end of a process is not recorded: %s action=end_not_recorded", problem)

    def settle(self, seen: ExitStatus) -> None:
        """Take over what ``wait`` reported and the tails of its output; saves nothing."""
        self.set_columns(exited_columns(seen, EndReason(self.end_reason) if self.end_reason else None))
        self.stdout, self.stdout_size = read_tail(self.stdout_file)
        self.stderr, self.stderr_size = read_tail(self.stderr_file)

    def store_logs(self) -> None:
        """Store the ends of the logs of an ended process in its row, and delete the files that the row holds whole."""
        for stream, file in (("stdout", self.stdout_file), ("stderr", self.stderr_file)):
            tail, size = read_tail(file)
            if tail and size != getattr(self, f"{stream}_size"):
                self.set_columns({stream: tail, f"{stream}_size": size})
                self.save()
            if size <= TAIL:
                file.unlink(missing_ok=True)

    # --- ending -----------------------------------------------------------------------------------------------

    @property
    def _is_visible(self) -> bool:
        """Whether this machine and this pid namespace can tell whether it lives."""
        identity = self.identity
        hidden = identity is not None and not identity.is_here() and not is_gone(identity)
        return self.machine_id == Machine.current().pk and not hidden

    def kill(self, signal_num: int = signal.SIGTERM, timeout: float = ENDING_TIME) -> bool:
        """Signal this one process, never a stranger that has its pid now. True when that has ended it.

        What a signal usually ends has ``timeout`` seconds for it. False for one that was gone before.
        """
        identity = self.identity
        if identity is None or not self._is_visible:
            return False
        if identity.is_zombie() or not identity.signal(signal_num):
            self.poll()
            return False
        try:
            processes.wait_until_gone(identity, timeout if signal_num in ENDING_SIGNALS else 0)
        except TimeoutError:
            return False
        self.poll()
        return True

    def terminate(self, grace: float = 5.0) -> bool:
        """TERM to the whole tree, ``grace`` seconds, KILL, again until nothing is left."""
        if not self._is_visible:
            return False
        gone = processes.Tree(root=self.identity, process_id=str(self.pk), data_dir=DATA_FOLDER.root).end_blocking(
            grace=grace
        )
        self.poll()
        return gone

    def kill_tree(self) -> bool:
        """KILL to the whole tree at once."""
        return self.terminate(grace=0.0)


def _is_zombie(proc: psutil.Process) -> bool:
    try:
        return proc.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
