"""The orchestrator: one per data folder and machine; starts, counts and restarts workers, and journals exits.

It loads Django before it forks its workers, so that they share its memory and start in milliseconds, and uses the
database at its start and its end alone: in between it sleeps until a process ends or a watcher comes or goes.
"""

import fcntl
import gc
import logging
import os
import selectors
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from uuid import UUID

from django.db import connection, connections

from archivebox.base_models.patience import patiently
from archivebox.base_models.rows import new_id
from archivebox.base_models.work import LEASE
from archivebox.config import logs
from archivebox.config.collection import schema_of
from archivebox.config.early import early_settings
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.retention import cleanup_today
from archivebox.hooks import base_layers, resolve_settings
from archivebox.lib import processes
from archivebox.lib.inotify import CLOSE_WRITE, DELETE, MOVED_TO, Inotify
from archivebox.lib.processes import ExitJournal, ExitStatus, Identity
from archivebox.machine.process import Process
from archivebox.workers.execute import worker
from archivebox.workers.queue import watchers
from archivebox.workers.supervise import recovery

log = logging.getLogger(__name__)

SILENCE = LEASE.total_seconds()
"""Seconds without a sign of life after which a worker is taken for hung, and killed."""
OVERSLEPT = 1.0
"""Seconds beyond its time by which a sleep tells that we were stopped: Ctrl-Z, or a suspended machine."""
WIND_DOWN = 8.0
"""Seconds that workers have to put everything down."""
FIRST_WATCHER = 3.0
"""Seconds in which somebody has to watch a new orchestrator."""
OTHERS_AFTER = 2.0
"""Seconds for which the first worker is alone even if it says that there is work for others: they would wake up too."""
CRASH_DELAY = (0.0, 0.0, 0.5, 2.0, 5.0)
"""Seconds before a worker is started again, by how many died within a minute of their start."""


@dataclass(slots=True)
class WorkerHandle:
    """One worker, as its orchestrator knows it."""

    process_id: UUID
    identity: Identity
    pulse: socket.socket
    started: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)


class Orchestrator:
    """Keeps ``count`` workers alive while somebody watches."""

    def __init__(self, process: Process, count: int, lock: int) -> None:
        self.process = process
        self.count = count
        self.lock = lock
        self.workers: dict[int, WorkerHandle] = {}
        self.watchers: dict[Path, int | None] = {}
        self.journal = ExitJournal(DATA_FOLDER.exits)
        self.selector = selectors.DefaultSelector()
        self.stopping = False
        self.others_wanted = False
        """Whether a worker has said that there is more work than one page; from then on all are kept at work."""
        self._early_deaths = 0
        self._start_at = 0.0
        self._born = time.monotonic()
        self._was_watched = False
        self._wake_r, self._wake_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._inotify = None if processes.PORTABLE else Inotify()

    # --- the loop ---------------------------------------------------------------------------------------------

    def run(self) -> None:
        gc.freeze()  # what is loaded stays: workers share it with us, and do not go through it again and again
        self._listen()
        self._find_watchers()
        while not self.stopping:
            self._start_missing_workers()
            self._sleep(self._patience())
            self._reap()
            self._kill_silent()
            if processes.PORTABLE:
                self._find_watchers()
            if not self.watchers and (self._was_watched or time.monotonic() - self._born > FIRST_WATCHER):
                self.stopping = True
        self._wind_down()

    def _sleep(self, patience: float) -> None:
        """Until something happens. A sleep in which we were stopped ourselves is nobody's silence."""
        asleep = time.monotonic()
        events = self.selector.select(patience)
        slept = time.monotonic() - asleep
        if slept > patience + OVERSLEPT:
            for handle in self.workers.values():
                handle.heard += slept
        for key, _ in events:
            key.data()

    def _listen(self) -> None:
        signal.set_wakeup_fd(self._wake_w, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, self._told_to_stop)
        self.selector.register(self._wake_r, selectors.EVENT_READ, self._drain)
        DATA_FOLDER.watchers.mkdir(parents=True, exist_ok=True)
        if self._inotify is not None:
            self._inotify.add(DATA_FOLDER.watchers, CLOSE_WRITE | MOVED_TO | DELETE)
            self.selector.register(self._inotify.fileno(), selectors.EVENT_READ, self._find_watchers)

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._wake_r, 512):
                pass

    def _told_to_stop(self, _signum: int, _frame: FrameType | None) -> None:
        self.stopping = True

    def _patience(self) -> float:
        """Until when to sleep at the longest: a worker's silence, a delayed start, or the first watcher."""
        if processes.PORTABLE:
            return 1.0
        waits = [handle.heard + SILENCE - time.monotonic() for handle in self.workers.values()]
        if len(self.workers) < self._wanted:
            waits.append(self._start_at - time.monotonic())
        if not self.watchers:
            waits.append(self._born + FIRST_WATCHER - time.monotonic())
        return max(0.01, min(waits, default=SILENCE))

    # --- watchers ---------------------------------------------------------------------------------------------

    def _find_watchers(self) -> None:
        """Who waits for work to be done: a file each, written by rename, that names a process."""
        if self._inotify is not None:
            self._inotify.read()
        there = set(watchers.files())
        for path in set(self.watchers) - there:
            self._forget_watcher(path)
        for path in there - set(self.watchers):
            self._take_watcher(path)
        if processes.PORTABLE:
            for path in list(self.watchers):
                watcher = watchers.read(path)
                if watcher is None or not watcher.identity.is_alive():
                    self._watcher_died(path)

    def _take_watcher(self, path: Path) -> None:
        watcher = watchers.read(path)
        if watcher is None:
            return
        pidfd = watcher.identity.open_pidfd()
        if pidfd is None and not processes.PORTABLE:
            path.unlink(missing_ok=True)
            return
        self.watchers[path] = pidfd
        self._was_watched = True
        if pidfd is not None:
            self.selector.register(pidfd, selectors.EVENT_READ, lambda: self._watcher_died(path))

    def _watcher_died(self, path: Path) -> None:
        self._forget_watcher(path)
        path.unlink(missing_ok=True)

    def _forget_watcher(self, path: Path) -> None:
        pidfd = self.watchers.pop(path, None)
        if pidfd is not None:
            self.selector.unregister(pidfd)
            os.close(pidfd)

    # --- workers ----------------------------------------------------------------------------------------------

    @property
    def _wanted(self) -> int:
        return self.count if self.others_wanted else 1

    def _start_missing_workers(self) -> None:
        while len(self.workers) < self._wanted and not self.stopping and time.monotonic() >= self._start_at:
            self._start_worker()
            self._start_at = max(self._start_at, self._born + OTHERS_AFTER)

    def _start_worker(self) -> None:
        key = new_id()
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            ours.close()  # else it would never see our end of it close
            self._become_worker(key, theirs)
        theirs.close()
        ours.setblocking(False)
        identity = Identity.of(pid)
        if identity is None:
            raise ProcessLookupError(f"worker {pid} vanished before it was reaped")
        handle = WorkerHandle(key, identity, ours)
        self.workers[pid] = handle
        self.selector.register(ours, selectors.EVENT_READ, lambda: self._hear(handle))

    def _become_worker(self, key: UUID, pulse: socket.socket) -> None:
        """In the child: let go of everything that is the orchestrator's, above all its lock, and never return."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for signum in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
                signal.signal(signum, signal.SIG_DFL)
            os.setsid()
            self._let_go()
            os.environ[processes.MARK] = str(key)
            code = worker.main(key, self.process.pk, workers=self.count, pulse=pulse.detach())
        except BaseException:
            log.exception("The worker broke at its start action=worker_broke")
        finally:
            logging.shutdown()
            os._exit(code)

    def _let_go(self) -> None:
        self.selector.close()
        for handle in self.workers.values():
            handle.pulse.close()
        for pidfd in self.watchers.values():
            if pidfd is not None:
                os.close(pidfd)
        if self._inotify is not None:
            self._inotify.close()
        for descriptor in (self._wake_r, self._wake_w, self.lock):
            os.close(descriptor)

    def _hear(self, handle: WorkerHandle) -> None:
        """Take the signs of life that are in its socket."""
        try:
            said = handle.pulse.recv(512)
        except (BlockingIOError, ConnectionResetError):
            return
        if said:
            handle.heard = time.monotonic()
            self.others_wanted |= worker.MORE_WORK in said
        else:
            with suppress(KeyError):
                self.selector.unregister(handle.pulse)  # it has closed its end: its exit follows

    def _kill_silent(self) -> None:
        silent = [handle for handle in self.workers.values() if time.monotonic() - handle.heard > SILENCE]
        for handle in silent:
            self._hear(handle)
            if time.monotonic() - handle.heard > SILENCE:
                log.warning("A worker gave no sign of life action=worker_killed pid=%d", handle.identity.pid)
                handle.identity.signal(signal.SIGKILL)
                handle.heard = time.monotonic()

    # --- exits ------------------------------------------------------------------------------------------------

    def _reap(self) -> None:
        """Journal and reap whatever of ours has ended: workers, and what dead workers left to us."""
        for pid in list(self.workers):
            status = self._status_of(pid)
            if status is not None:
                self._reap_worker(pid, status)
        processes.reap_orphans(self.journal, own=self.workers.keys())

    @staticmethod
    def _status_of(pid: int) -> ExitStatus | None:
        try:
            done, status, usage = os.wait4(pid, os.WNOHANG)
        except ChildProcessError:
            return processes.UNSEEN
        if done == 0:
            return None
        code = os.waitstatus_to_exitcode(status)
        return ExitStatus(code, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024)

    def _reap_worker(self, pid: int, status: ExitStatus) -> None:
        handle = self.workers.pop(pid)
        with suppress(KeyError, ValueError):
            self.selector.unregister(handle.pulse)
        handle.pulse.close()
        if status.exit_code != 0:
            with suppress(OSError):  # no room for it: its row says that nobody saw its end
                self.journal.write(handle.identity, status)
            self._tell_siblings()
        lived = time.monotonic() - handle.started
        self._early_deaths = self._early_deaths + 1 if lived < 60 and status.exit_code != 0 else 0
        delay = CRASH_DELAY[min(self._early_deaths, len(CRASH_DELAY) - 1)]
        self._start_at = time.monotonic() + delay
        log.info("A worker ended action=worker_ended pid=%d exit=%s", pid, status.exit_code)

    def _tell_siblings(self) -> None:
        """One of them has died: the others take back what it held, without waiting for its successor or their beat."""
        for handle in self.workers.values():
            with suppress(BlockingIOError, BrokenPipeError):
                handle.pulse.send(b"d")

    # --- the end ----------------------------------------------------------------------------------------------

    def _wind_down(self) -> None:
        for handle in self.workers.values():
            handle.identity.signal(signal.SIGTERM)
        deadline = time.monotonic() + WIND_DOWN
        while self.workers and time.monotonic() < deadline:
            for key, _ in self.selector.select(0.2 if processes.PORTABLE else max(0.0, deadline - time.monotonic())):
                key.data()
            self._reap()
        for handle in self.workers.values():
            handle.identity.signal(signal.SIGKILL)
        while self.workers:
            self.selector.select(0.2)
            self._drain()
            self._reap()
        processes.Strays(processes.orphans).end_blocking(grace=0.5)
        processes.reap_orphans(None, own=self.workers.keys())  # ended by us: no journal, it has to run again


def take_lock(*, wait: bool) -> int | None:
    """The lock that makes one orchestrator the only one of its data folder; None when another holds it."""
    DATA_FOLDER.run.mkdir(parents=True, exist_ok=True)
    schema = schema_of(DATA_FOLDER).encode()
    descriptor = os.open(DATA_FOLDER.orchestrator_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(descriptor)
        return None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, schema, 0)  # who would change the schema meanwhile looks whether it is the one we know
    return descriptor


def _share_life() -> None:
    """Say that somebody lives until this process and all workers, who inherit it, have ended: daemons wait for that."""
    descriptor = os.open(DATA_FOLDER.alive, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_SH)


def main(process_id: UUID | None = None, *, wait: bool = False) -> int:
    """Be the orchestrator until nobody watches; returns the exit status, 0 also when another one is at work."""
    processes.become_subreaper()
    logs.set_up(early_settings(DATA_FOLDER).get_text("LOG_LEVEL"), DATA_FOLDER.logs / "orchestrator.log")
    lock = take_lock(wait=wait)
    if lock is None:
        return 0
    _share_life()
    key = process_id or new_id()
    process = patiently(lambda: Process.begin(key, process_type=Process.TypeChoices.ORCHESTRATOR))
    error: BaseException | None = None
    try:
        patiently(recovery.sweep_machine)
        settings = resolve_settings(base_layers())
        count = settings.find_int("WORKERS") or os.cpu_count() or 1
        connections.close_all()
        Orchestrator(process, count, lock).run()
        patiently(recovery.close_the_last)
        # Who only adds now and then has no worker that lives for ten seconds.
        cleanup_today(settings.get_int("PROCESS_RETENTION_DAYS"))
    except Exception as problem:
        error = problem
        log.exception("The orchestrator broke action=orchestrator_broke")
    patiently(lambda: process.finish(0 if error is None else 1, "" if error is None else repr(error)))
    connection.close()
    return 0 if error is None else 1
