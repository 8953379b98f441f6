"""Being the one who watches: whoever waits for work keeps an orchestrator alive for as long as it waits."""

import logging
import os
import selectors
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType, TracebackType
from typing import Self
from uuid import UUID

from django.db import DatabaseError, connection, connections

from archivebox.base_models.rows import new_id
from archivebox.base_models.transient import transient_problem
from archivebox.base_models.wakeups import wake_local_workers
from archivebox.config.early import keep_last_conf
from archivebox.config.settings import DATA_FOLDER
from archivebox.hooks import base_layers, resolve_settings
from archivebox.lib import processes
from archivebox.lib.file_watch import ATTRIB, CLOSE_WRITE, FileWatcher
from archivebox.lib.processes import ProcessIdentity
from archivebox.lib.system_calls import require_open_files, wakeup_pipe
from archivebox.machine.process import Process
from archivebox.workers.queue import watchers
from archivebox.workers.queue.disk_space import DiskSpaceGuard
from archivebox.workers.queue.readiness_check import ReadinessCheck, orchestrator_is_running
from archivebox.workers.queue.watchers import Only
from archivebox.workers.supervise import orchestrator, recovery

log = logging.getLogger(__name__)

POLL_EVERY = 5.0
"""Seconds after which a watcher checks without having been told of anything."""
POLL_FILES = 0.2
"""Seconds between two checks of the wake-up file and the lock where the kernel does not report changes."""
RELEASE = 0.05
"""Seconds in which the lock of a file that was closed is free: the kernel tells of the closing first."""
WIND_DOWN = 12.0
EARLY = 5.0
MOST_EARLY_DEATHS = 3


class Interrupted(Exception):  # noqa: N818 - what happened, not what went wrong
    """Ctrl-C or SIGTERM while watching; ``signum`` says which."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"interrupted by signal {signum}")
        self.signum = signum


class OrchestratorFailedError(Exception):
    """The orchestrator ends in error each time it is started; the message has its last words."""


class OrchestratorWatch:
    """Keeps an orchestrator alive; as a context manager it leaves at the end, whatever happened.

    ``poll_every``: seconds after which it checks without having been told to. ``tell``: what is said to people.
    SettingError or ConfError where a setting of this machine is not allowed; TooFewFilesError.
    """

    def __init__(
        self,
        parent: Process | None = None,
        only: Only | None = None,
        tell: Callable[[str], object] = log.warning,
        *,
        poll_every: float = POLL_EVERY,
    ) -> None:
        self.parent = parent or Process.current()
        self.only = only
        self.poll_every = poll_every
        self.path = DATA_FOLDER.watcher_lock(self.parent.pk)
        self.orchestrator: Process | None = None
        self._selector = selectors.DefaultSelector()
        self._watcher: FileWatcher | None = None
        self._released = False
        self._signum = 0
        self._forced = False
        self._is_over = False
        self._told = ""
        self._tell = tell
        require_open_files()
        settings = resolve_settings(base_layers())
        settings.check()
        keep_last_conf()
        self.disk = DiskSpaceGuard(DATA_FOLDER.root, settings.get_int("DISK_FREE_MIN"), tell)
        self.readiness_check = ReadinessCheck(tell)
        self._not_ours: set[ProcessIdentity] = set()
        self._early_deaths = 0
        self._signals_r, self._signals_w = wakeup_pipe()
        self._lock: int | None = None

    def __enter__(self) -> Self:
        processes.become_subreaper()
        self._not_ours = processes.orphans()  # children of the shell whose place we took by exec
        DATA_FOLDER.make_folder(DATA_FOLDER.watchers)
        DATA_FOLDER.wakeup_file.touch()
        self._lock = watchers.begin(self.path, self.only)
        DATA_FOLDER.orchestrator_lock.touch(0o600)
        self._watcher = FileWatcher(POLL_FILES)
        self._watcher.add(DATA_FOLDER.wakeup_file, ATTRIB)
        self._watcher.add(DATA_FOLDER.orchestrator_lock, CLOSE_WRITE)
        self._watcher.register(self._selector)
        self._selector.register(self._signals_r, selectors.EVENT_READ)
        self._previous = {signum: signal.signal(signum, self._interrupt) for signum in (signal.SIGINT, signal.SIGTERM)}
        self._wakeup = signal.set_wakeup_fd(self._signals_w, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        wake_local_workers()  # workers that were at work for others alone may take more now
        self.keep_orchestrator()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    # --- waiting ----------------------------------------------------------------------------------------------

    def wait(self, until: Callable[[], bool], on_change: Callable[[], None] | None = None) -> None:
        """Sleep until ``until()`` holds, which is asked after each wake-up. Raises Interrupted.

        ``on_change`` is called after each wake-up at which it does not hold yet.
        """
        while not self._check(until, on_change):
            self._sleep(self.poll_every)
            if self._signum:
                raise Interrupted(self._signum)
            self._do(self.keep_orchestrator)

    def _check(self, until: Callable[[], bool], on_change: Callable[[], None] | None) -> bool:
        """Whether it is over; not while nobody can tell, because the database is away."""
        if not self._do(lambda: self._ask(until, on_change)):
            return False
        self._told = ""
        if not self._is_over:
            self.disk.has_space()  # which says so if there is none
            self._do(self.readiness_check.may_begin)  # so does this
        return self._is_over

    def _ask(self, until: Callable[[], bool], on_change: Callable[[], None] | None) -> None:
        self._is_over = until()
        if on_change is not None and not self._is_over:
            on_change()

    def _do(self, work: Callable[[], object]) -> bool:
        """Do what wants the database; False: it is away, which is told once, and it is to be done again."""
        try:
            work()
        except DatabaseError as error:
            sentence = transient_problem(error)
            if not sentence:
                raise
            if sentence != self._told:
                self._tell(sentence)
            self._told = sentence
            connection.close_if_unusable_or_obsolete()
            return False
        return True

    def ends_within(self, process: Process, seconds: float) -> bool:
        """Wait for the end of a child; False: it takes longer, or a second Ctrl-C wants it ended at once."""
        deadline = time.monotonic() + seconds
        while process.poll() is None:
            left = deadline - time.monotonic()
            if left <= 0 or self._forced:
                return False
            self._sleep(left)
        return True

    def _sleep(self, seconds: float) -> None:
        """Until the wake-up file changes, a signal comes, a child ends, or the orchestrator's lock is released."""
        patience = min(RELEASE, seconds) if self._released else seconds
        self._released = False
        watcher = self._watcher
        if self._selector.select(patience if watcher is None else watcher.at_most(patience)):
            if watcher is not None:
                self._released = str(DATA_FOLDER.orchestrator_lock) in watcher.changed()
            with suppress(BlockingIOError):
                os.read(self._signals_r, 512)
        processes.reap_orphans(None, own=self._own_pids())

    def _own_pids(self) -> set[int]:
        return {self.orchestrator.pid} if self.orchestrator is not None and self.orchestrator.pid else set()

    def _interrupt(self, signum: int, _frame: FrameType | None) -> None:
        """The first one lets everything wind down, the second ends it at once, the third ends this process alone."""
        if self._signum:
            self._forced = True
            for each in self._previous:
                signal.signal(each, signal.SIG_DFL)
        self._signum = signum

    # --- the orchestrator -------------------------------------------------------------------------------------

    def keep_orchestrator(self) -> None:
        """Start one when none is at work: ours may have died, or that of the server beside us."""
        if self.orchestrator is not None and self.orchestrator.poll() is None:
            return
        if self.orchestrator is not None:
            self._end_leftovers()
            self.orchestrator.store_logs()
            self._stop_crash_loop(self.orchestrator)
        self.orchestrator = None
        if not orchestrator_is_running():
            self.orchestrator = start_orchestrator(self.parent, self._be_orchestrator)

    def _be_orchestrator(self, process_id: UUID) -> int:
        """In the child: let go of what is the watcher's, above all its lock."""
        self._close()
        processes.set_title("archivebox orchestrator")
        return orchestrator.main(process_id)

    def _stop_crash_loop(self, dead: Process) -> None:
        """One that ends in error soon after its start, again and again, cannot work: say so instead of storming."""
        failed_early = dead.exit_code not in {0, None} and (dead.exit_code or 0) > 0 and (dead.seconds or 0) < EARLY
        self._early_deaths = self._early_deaths + 1 if failed_early else 0
        if self._early_deaths >= MOST_EARLY_DEATHS:
            tail = dead.stderr.strip().splitlines()
            raise OrchestratorFailedError(f"The orchestrator does not start: {tail[-1] if tail else dead.exit_code}")

    def _end_leftovers(self) -> None:
        """What a dead orchestrator left comes to us, who are a subreaper; workers end by themselves."""
        processes.reap_orphans(processes.ExitJournal(DATA_FOLDER.exits))

    def _left_to_us(self) -> set[ProcessIdentity]:
        return set() if processes.PORTABLE else processes.orphans(own=self._own_pids()) - self._not_ours

    def release(self) -> None:
        """Watch no longer: when nobody does, the orchestrator winds down, which :meth:`leave` waits for."""
        if self._lock is None:
            return
        if self._watcher is not None:
            self._watcher.unwatch_all()
        self.path.unlink(missing_ok=True)
        os.close(self._lock)
        self._lock = None
        wake_local_workers()

    def leave(self) -> None:
        """Watch no longer, and wait for the end of our orchestrator, unless somebody else watches."""
        self.release()
        if self.orchestrator is not None:
            self.orchestrator.record_patience = orchestrator.RECORD_TIME
        if self.orchestrator is not None and not _others_watch():
            if not self.ends_within(self.orchestrator, WIND_DOWN):
                self._forced = True
                self.orchestrator.kill_tree()
            self._end_leftovers()
        # It may have found another at work and ended: its end goes on record.
        if self.orchestrator is not None and self.orchestrator.poll() is not None:
            self.orchestrator.store_logs()
        if self._left_to_us() and not _others_watch():
            processes.StrayProcesses(self._left_to_us).end_blocking(grace=0.5)
            processes.reap_orphans(None, own=self._own_pids())
        if self._forced:
            self._do(_put_on_record)
        signal.set_wakeup_fd(self._wakeup)
        for signum, previous in self._previous.items():
            signal.signal(signum, previous)
        self._close()

    def _close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
        self._selector.close()
        if self._watcher is not None:
            self._watcher.close()
        os.close(self._signals_r)
        os.close(self._signals_w)


def _put_on_record() -> None:
    """Nobody is left who would: the ends of what was killed, and the leases that it held."""
    lock = orchestrator.acquire_lock(wait=False)
    if lock is not None:  # else another orchestrator does
        recovery.recover_machine()
        recovery.close_remaining_rows()
        os.close(lock)


def _others_watch() -> bool:
    return any(map(watchers.read, watchers.files()))  # an empty file is of one that was killed as it began


def start_orchestrator(parent: Process, body: Callable[[UUID], int]) -> Process:
    """Start an orchestrator as a child of ours, on record before it can have an effect.

    Forked where this process has one thread: loading Django once more would hold up the first page by 0.3 s.
    """
    key: UUID = new_id()
    words = ("archivebox", "orchestrator", "--process-id", str(key))
    process = Process.of_ours(Process.TypeChoices.ORCHESTRATOR, *words, parent=parent, id=key)
    if processes.PORTABLE or threading.active_count() > 1:
        return process.launch(background=True)
    process.launch_env = dict(os.environ)
    process.save(force_insert=True)
    connections.close_all()  # no connection of SQLite may be carried over a fork
    return process.launch(background=True, body=partial(body, key))
