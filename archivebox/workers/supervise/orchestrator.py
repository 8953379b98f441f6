"""The orchestrator: one per data folder and machine; restarts workers and their proxy, and journals exits.

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
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from types import FrameType
from uuid import UUID

from django.db import connection, connections

from archivebox.base_models.rows import new_id
from archivebox.base_models.transient import retry_transient
from archivebox.base_models.work import LEASE
from archivebox.config import logs
from archivebox.config.collection import schema_of
from archivebox.config.early import early_settings, keep_last_conf
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.crawl_control.process_retention import cleanup_today
from archivebox.hooks import base_layers, resolve_settings
from archivebox.lib import processes
from archivebox.lib.file_watch import CLOSE_WRITE, DELETE, FileWatcher
from archivebox.lib.processes import ExitJournal, ExitStatus, ProcessIdentity
from archivebox.lib.system_calls import wakeup_pipe
from archivebox.machine.machine_id import is_fleet
from archivebox.machine.process import Process
from archivebox.workers.egress import process as egress
from archivebox.workers.execute import worker
from archivebox.workers.execute.engine import WorkerCount
from archivebox.workers.queue import watchers
from archivebox.workers.signals import OrchestratorSignal, WorkerSignal
from archivebox.workers.supervise import listener, recovery
from archivebox.workers.supervise.children import Children, ServeCommands, WorkerHandle, status_of

log = logging.getLogger(__name__)

SILENCE = LEASE.total_seconds()
"""Seconds without a sign of life after which a worker is taken for hung, and killed."""
OVERSLEPT = 1.0
"""Seconds beyond its time by which a sleep tells that we were stopped: Ctrl-Z, or a suspended machine."""
WIND_DOWN = 8.0
"""Seconds that workers have to put everything down."""
RECORD_TIME = 4.0
"""Seconds for the database to take the records of the end. Where it is away for longer, the next start makes them:
nothing is left that runs, and nobody waits for this process."""
NEW_OBJECTS = 10_000
"""How many make the garbage collector run; an import spent 6 % of its worker's time on it with Python's 700."""
POLL_WATCHERS = 1.0
"""Seconds between two looks for watchers where no kernel tells."""
FIRST_WATCHER = 3.0
"""Seconds in which somebody has to watch a new orchestrator."""
OTHERS_AFTER = 2.0
"""Seconds for which the first worker is alone even if it says that there is work for others: they would wake up too."""
SETTLED = 5.0
"""Seconds after which a worker that has come has its part of the pages, so that it shows whether one more is wanted."""


class Orchestrator:
    """Keeps up to ``count`` workers alive while somebody watches.

    ``as_needed``: one after the other, when those that are there do not keep up; else all, for more than one page.
    ``commands``: what one more process does, which carries out commands that people type.
    """

    def __init__(
        self,
        process: Process,
        count: int,
        lock: int,
        *,
        as_needed: bool,
        commands: ServeCommands | None = None,
    ) -> None:
        self.process = process
        self.serve_commands = commands if os.environ.get("ARCHIVEBOX_FORK") != "0" and not processes.PORTABLE else None
        self.count = count
        self.as_needed = as_needed
        self.lock = lock
        self.workers = Children()
        self.egress = Children()
        """The one process by which crawls go out, once a worker has asked for it."""
        self.commands = Children()
        """The one process that takes commands."""
        self.listeners = Children()
        """The one process that hears other machines, where there may be any."""
        # The way from all workers to that process; it outlives both, and what waits in it goes to the next one.
        self.ports_in, self.crawl_ports = socket.socketpair()
        self.watchers: dict[Path, int | None] = {}
        self.journal = ExitJournal(DATA_FOLDER.exits)
        self.selector = selectors.DefaultSelector()
        self.stopping = False
        self.wanted = 1
        """How many workers are kept at work: never fewer again."""
        self._way_is_wanted = False
        self._born = time.monotonic()
        self._was_watched = False
        self._wake_r, self._wake_w = wakeup_pipe()
        self._watched = FileWatcher(POLL_WATCHERS)

    # --- the loop ---------------------------------------------------------------------------------------------

    def run(self) -> None:
        gc.freeze()  # what is loaded stays: workers share it with us, and do not go through it again and again
        gc.set_threshold(NEW_OBJECTS)
        self._listen()
        self._find_watchers()
        while not self.stopping:
            self._start_missing()
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
            for handle in self._children.values():
                handle.heard += slept
        for key, _ in events:
            key.data()

    def _listen(self) -> None:
        signal.set_wakeup_fd(self._wake_w, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, self._handle_stop_signal)
        self.selector.register(self._wake_r, selectors.EVENT_READ, self._drain)
        self._listen_for_ways()
        DATA_FOLDER.make_folder(DATA_FOLDER.watchers)
        self._watched.add(DATA_FOLDER.watchers, CLOSE_WRITE | DELETE)
        self._watched.register(self.selector, self._find_watchers)

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._wake_r, 512):
                pass

    def _handle_stop_signal(self, _signum: int, _frame: FrameType | None) -> None:
        self.stopping = True

    def _patience(self) -> float:
        """Until when to sleep at the longest: a worker's silence, a delayed start, or the first watcher."""
        if processes.PORTABLE:
            return 1.0
        waits = [handle.heard + SILENCE - time.monotonic() for handle in self._children.values()]
        if len(self.workers) < self.wanted:
            waits.append(self.workers.restarts.at - time.monotonic())
        if self._way_is_wanted:
            waits.append(self.egress.restarts.at - time.monotonic())
        if self.serve_commands is not None and not self.commands:
            waits.append(self.commands.restarts.at - time.monotonic())
        if is_fleet() and not self.listeners:
            waits.append(self.listeners.restarts.at - time.monotonic())
        if not self.watchers:
            waits.append(self._born + FIRST_WATCHER - time.monotonic())
        return max(0.01, min(waits, default=SILENCE))

    # --- watchers ---------------------------------------------------------------------------------------------

    def _find_watchers(self) -> None:
        """Who waits for work to be done: a file each that names a process; one that is being written follows later."""
        self._watched.changed()
        there = set(watchers.files())
        for path in set(self.watchers) - there:
            self._forget_watcher(path)
        for path in there - set(self.watchers):
            self._accept_watcher(path)
        if processes.PORTABLE:
            for path in list(self.watchers):
                watcher = watchers.read(path)
                if watcher is None or not watcher.identity.is_alive():
                    self._watcher_died(path)

    def _accept_watcher(self, path: Path) -> None:
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

    # --- workers, and their proxy -----------------------------------------------------------------------------

    @property
    def _children(self) -> dict[int, WorkerHandle]:
        return {**self.workers, **self.egress, **self.commands, **self.listeners}

    def _start_missing(self) -> None:
        while len(self.workers) < self.wanted and not self.stopping and self.workers.restarts.is_time:
            self._fork(self.workers, self._be_worker)
            self.workers.restarts.not_before(self._born + OTHERS_AFTER)
        if self._way_is_wanted and not self.stopping and self.egress.restarts.is_time:
            self._fork(self.egress, self._be_egress)
            self._way_is_wanted = False
        if self.serve_commands is not None and not (self.commands or self.stopping) and self.commands.restarts.is_time:
            self._fork(self.commands, partial(self._be_commands, self.serve_commands))
        if is_fleet() and not (self.listeners or self.stopping) and self.listeners.restarts.is_time:
            self._fork(self.listeners, self._be_listener)

    def _listen_for_ways(self) -> None:
        """Until somebody hands over a port: no other process is there that would take it."""
        self.selector.register(self.crawl_ports, selectors.EVENT_READ, self._start_egress)

    def _start_egress(self) -> None:
        self.selector.unregister(self.crawl_ports)
        self._way_is_wanted = True

    def _fork(self, among: Children, body: Callable[[UUID, socket.socket], int]) -> None:
        key = new_id()
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            ours.close()  # else it would never see our end of it close
            self._become(body, key, theirs)
        theirs.close()
        ours.setblocking(False)
        identity = ProcessIdentity.of(pid)
        if identity is None:
            raise ProcessLookupError(f"process {pid} vanished before it was reaped")
        handle = WorkerHandle(key, identity, ours)
        among[pid] = handle
        self.selector.register(ours, selectors.EVENT_READ, lambda: self._receive(handle))

    def _become(self, body: Callable[[UUID, socket.socket], int], key: UUID, pulse: socket.socket) -> None:
        """In the child: let go of everything that is the orchestrator's, above all its lock, and never return."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for signum in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
                signal.signal(signum, signal.SIG_DFL)
            os.setsid()
            self._close_inherited()
            os.environ[processes.MARK] = str(key)
            code = body(key, pulse)
        except BaseException:
            log.exception("The worker broke at its start action=worker_broke")
        finally:
            logging.shutdown()
            os._exit(code)

    def _be_worker(self, key: UUID, pulse: socket.socket) -> int:
        self.crawl_ports.close()
        processes.set_title("archivebox worker")
        crew = WorkerCount(self.wanted if self.as_needed else self.count, self.count)
        return worker.main(
            key,
            self.process.pk,
            crew=crew,
            ports_in=self.ports_in,
            pulse=pulse.detach(),
            serves=self.serve_commands is not None,
        )

    def _be_egress(self, key: UUID, pulse: socket.socket) -> int:
        self.ports_in.close()
        processes.set_title("archivebox egress")
        return egress.main(key, self.process.pk, ports_in=self.crawl_ports, pulse=pulse)

    def _be_commands(self, serve: ServeCommands, key: UUID, pulse: socket.socket) -> int:
        self.ports_in.close()
        self.crawl_ports.close()
        return serve(key, self.process.pk, pulse)

    def _be_listener(self, key: UUID, pulse: socket.socket) -> int:
        self.ports_in.close()
        self.crawl_ports.close()
        processes.set_title("archivebox listener")
        return listener.main(key, self.process.pk, pulse=pulse)

    def _close_inherited(self) -> None:
        self.selector.close()
        for handle in self._children.values():
            handle.pulse.close()
        for pidfd in self.watchers.values():
            if pidfd is not None:
                os.close(pidfd)
        self._watched.close()
        for descriptor in (self._wake_r, self._wake_w, self.lock):
            os.close(descriptor)

    def _receive(self, handle: WorkerHandle) -> None:
        """Take the signs of life that are in its socket."""
        try:
            said = handle.pulse.recv(512)
        except (BlockingIOError, ConnectionResetError):
            return
        if said:
            handle.heard = time.monotonic()
            self._handle_signals(said)
        else:
            with suppress(KeyError):
                self.selector.unregister(handle.pulse)  # it has closed its end: its exit follows

    def _handle_signals(self, said: bytes) -> None:
        if not self.as_needed:
            self.wanted = self.count if WorkerSignal.MORE_WORK.value in said else self.wanted
        elif WorkerSignal.OVERLOADED.value in said and self.wanted < self.count and self._all_are_settled:
            self._tell_workers(OrchestratorSignal.SIBLING_ADDED)
            self.wanted += 1

    @property
    def _all_are_settled(self) -> bool:
        since = time.monotonic() - SETTLED
        return len(self.workers) == self.wanted and (
            self.wanted == 1 or all(handle.started < since for handle in self.workers.values())
        )

    def _kill_silent(self) -> None:
        silent = [handle for handle in self._children.values() if time.monotonic() - handle.heard > SILENCE]
        for handle in silent:
            self._receive(handle)
            if time.monotonic() - handle.heard > SILENCE:
                log.warning("A worker did not respond action=worker_killed pid=%d", handle.identity.pid)
                handle.identity.signal(signal.SIGKILL)
                handle.heard = time.monotonic()

    # --- exits ------------------------------------------------------------------------------------------------

    def _reap(self) -> None:
        """Journal and reap whatever of ours has ended: workers, and what dead workers left to us."""
        for among in (self.workers, self.commands, self.listeners, self.egress):
            for pid in list(among):
                status = status_of(pid)
                if status is not None:
                    self._reap_child(among, pid, status)
                    if among is self.egress:
                        self._listen_for_ways()
        processes.reap_orphans(self.journal, own=self._children.keys())

    def _reap_child(self, among: Children, pid: int, status: ExitStatus) -> None:
        """Put the end of one of ours on record, and decide when its successor may start."""
        handle = among.pop(pid)
        with suppress(KeyError, ValueError):
            self.selector.unregister(handle.pulse)
        handle.pulse.close()
        if status.exit_code != 0:
            with suppress(OSError):  # no room for it: its row says that nobody saw its end
                self.journal.write(handle.identity, status)
            self._tell_workers(OrchestratorSignal.SIBLING_DIED)  # who take back what it held before their next beat
        log.info("A process of ours ended action=worker_ended pid=%d exit=%s", pid, status.exit_code)
        among.restarts.record_death(lived=time.monotonic() - handle.started, exit_code=status.exit_code)

    def _tell_workers(self, word: bytes) -> None:
        for handle in self.workers.values():
            with suppress(BlockingIOError, BrokenPipeError):
                handle.pulse.send(word)

    # --- the end ----------------------------------------------------------------------------------------------

    def _wind_down(self) -> None:
        """End the workers before their proxy: their hooks can use it until then."""
        self._watched.unwatch_all()
        self._end(self.commands, self.listeners, self.workers)
        self._end(self.egress)
        processes.StrayProcesses(processes.orphans).end_blocking(grace=0.5)
        processes.reap_orphans(None, own=self._children.keys())  # ended by us: no journal, it has to run again

    def _end(self, *groups: Children) -> None:
        """End all of these at once; what takes too long is killed."""
        for handle in chain.from_iterable(group.values() for group in groups):
            handle.identity.signal(signal.SIGTERM)
        deadline = time.monotonic() + WIND_DOWN
        while any(groups) and time.monotonic() < deadline:
            for key, _ in self.selector.select(0.2 if processes.PORTABLE else max(0.0, deadline - time.monotonic())):
                key.data()
            self._reap()
        for handle in chain.from_iterable(group.values() for group in groups):
            handle.identity.signal(signal.SIGKILL)
        while any(groups):
            self.selector.select(0.2)
            self._drain()
            self._reap()


def acquire_lock(*, wait: bool) -> int | None:
    """The lock that makes one orchestrator the only one of its data folder; None when another holds it."""
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


def _leave(key: UUID) -> None:
    """Record the end of one that found another at work: its starter may be gone before it looks."""
    retry_transient(lambda: Process.begin(key, process_type=Process.TypeChoices.ORCHESTRATOR).finish(0))
    connection.close()


def main(
    process_id: UUID | None = None,
    *,
    wait: bool = False,
    commands: ServeCommands | None = None,
) -> int:
    """Be the orchestrator until nobody watches; returns the exit status, 0 also when another one is at work."""
    processes.become_subreaper()
    logs.set_up(early_settings(DATA_FOLDER).get_text("LOG_LEVEL"), DATA_FOLDER.logs / "orchestrator.log")
    keep_last_conf()
    lock = acquire_lock(wait=wait)
    key = process_id or new_id()
    if lock is None:
        _leave(key)
        return 0
    _share_life()
    process = retry_transient(lambda: Process.begin(key, process_type=Process.TypeChoices.ORCHESTRATOR))
    error: BaseException | None = None
    try:
        retry_transient(recovery.recover_machine)
        settings = resolve_settings(base_layers())
        wish = settings.find_int("WORKERS")
        connections.close_all()
        count = wish or os.cpu_count() or 1
        Orchestrator(process, count, lock, as_needed=wish is None, commands=commands).run()
        retry_transient(recovery.close_remaining_rows, patience=RECORD_TIME)
        # Who only adds now and then has no worker that lives for ten seconds.
        cleanup_today(settings.get_int("PROCESS_RETENTION_DAYS"))
    except Exception as problem:
        error = problem
        log.exception("The orchestrator broke action=orchestrator_broke")
    code = process.finish_after(error, RECORD_TIME)
    connection.close()
    return code
