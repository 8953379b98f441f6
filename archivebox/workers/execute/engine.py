"""What all runs of one worker share: its loop, database thread, exits, outputs, fork server and slots."""

import asyncio
import logging
import os
import sys
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.config.resolve import Resolved
from archivebox.config.settings import DATA_FOLDER
from archivebox.hooks import APPLICATION
from archivebox.lib import processes
from archivebox.lib.processes import Child, ExitStatus, ForkServer, ForkServerGone, Identity, Launch
from archivebox.machine.process import Process
from archivebox.workers.execute.journal import Journal
from archivebox.workers.execute.outputs import Outputs

log = logging.getLogger(__name__)

PRELOAD = (
    "json",
    "hashlib",
    "urllib.parse",
    "urllib.request",
    "archivebox.plugins.base.programs",
    "archivebox.plugins.base.tab",
    "archivebox.plugins.base.netlog",
    "argparse",
    "gettext",
    "locale",
    "pathlib",
    "shutil",
    "tempfile",
)
"""Modules that Python hooks import; warm in the fork server, which every hook is forked from.

Those that argparse imports only when it is used are named too: they are 4 of the 8 ms of a plain hook's CPU.
"""


class Slots:
    """So many hooks at a time; who waits is told in turn when one is given back, and nobody whom none is left for."""

    def __init__(self, limit: int) -> None:
        self.limit = max(1, limit)
        self.taken = 0
        self._waiting: deque[Callable[[], None]] = deque()

    def take(self) -> bool:
        if self.taken >= self.limit:
            return False
        self.taken += 1
        return True

    def take_anyway(self) -> None:
        """For an adopted hook, which runs already: it counts, even above the limit."""
        self.taken += 1

    def give_back(self) -> None:
        self.taken -= 1
        for _ in range(len(self._waiting)):  # who is told may find that it has to wait again
            if self.taken >= self.limit:
                return
            self._waiting.popleft()()

    def tell_when_free(self, tell: Callable[[], None]) -> None:
        if tell not in self._waiting:
            self._waiting.append(tell)


@dataclass(slots=True)
class Programs:
    """What is known of the programs of this machine; read again at each look."""

    paths: dict[str, str] = field(default_factory=dict)
    status: dict[str, str] = field(default_factory=dict)

    def learn(self, status: dict[str, str], paths: dict[str, str]) -> None:
        """Take over what the rows say now; in place, since the calls of running objects look at the same dicts."""
        for known, now in ((self.status, status), (self.paths, paths)):
            known.clear()
            known.update(now)


class Engine:
    """The services that hook runs need, owned by one worker."""

    def __init__(self, loop: asyncio.AbstractEventLoop, process: Process, settings: Resolved, workers: int) -> None:
        self.loop = loop
        self.process_id: UUID = process.pk
        self.machine_id: UUID = process.machine_id
        self.settings = settings
        self.journal = Journal(loop)
        self.exits = processes.ExitWatcher(loop)
        self.outputs = Outputs.on(loop)
        self.spawn_log = processes.SpawnLog(DATA_FOLDER.spawn_log(process.pk))
        self.programs = Programs()
        self.in_log = 0
        cores = os.cpu_count() or 1
        self.slots = Slots(share(settings.get_number("HOOK_CONCURRENCY") or 2 * cores, workers))
        self.session_slots = Slots(share(settings.get_number("TABS") or cores, workers))
        self.finite_slots = Slots(share(settings.get_number("FINITE_CONCURRENCY") or 4 * cores, workers))
        self.stop_grace = settings.get_number("STOP_GRACE") or 0.0
        self.seal_grace = settings.get_number("SEAL_GRACE") or 0.0
        self.ready_time = settings.get_number("READY_TIME") or 0.0
        self.output_max = int(settings.get_number("HOOK_OUTPUT_MAX") or 16_000_000)
        self.file_max = int(settings.get_number("HOOK_FILE_MAX") or 16_000_000_000)
        self.max_attempts = int(settings.get_number("MAX_ATTEMPTS") or 3)
        self.on_reaped: Callable[[Identity, ExitStatus], None] = lambda _identity, _status: None
        self._tasks: set[asyncio.Task[None]] = set()
        loop.set_exception_handler(self.broke)
        self._fork_server: ForkServer | None = None
        self._fork_server_id: UUID | None = None

    def in_background(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Run ``work`` beside everything else. If it breaks, so does the worker: see :meth:`broke`."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_is_done)
        return task

    def _task_is_done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.broke(self.loop, {"message": "A task broke", "exception": error})

    def broke(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Crash only: what went wrong here cannot be put right here. The next worker takes everything over."""
        log.critical("%s action=worker_broke", context.get("message"), exc_info=context.get("exception"))
        logging.shutdown()
        os._exit(1)

    def reap_orphans(self) -> None:
        """Reap the orphans that came to this worker and have ended; nobody else waits for them."""
        for identity, status in processes.reap_orphans(None, own=self._own_pids()).items():
            self.on_reaped(identity, status)

    def orphans(self) -> set[Identity]:
        """Live orphans that came to this worker, which is a subreaper."""
        fosters = processes.orphans(own=self._own_pids())
        return {identity for identity in fosters if not identity.is_zombie()}

    def _own_pids(self) -> tuple[int, ...]:
        server = self._fork_server.identity if self._fork_server is not None else None
        return () if server is None else (server.pid,)

    # --- starting ---------------------------------------------------------------------------------------------

    def spawn(self, launch: Launch) -> Child:
        """Start a hook: forked from the warm Python where it may be, else cold. Raises OSError if it cannot be."""
        if launch.script is not None:
            server = self.fork_server()
            if server is not None:
                try:
                    return server.spawn(launch)
                except ForkServerGone as reason:
                    log.debug("started cold: %s", reason)
            launch.env["PYTHONPATH"] = str(APPLICATION)
        return processes.spawn(launch)

    def fork_server(self) -> ForkServer | None:
        """The one at work or warming up; started at once by a new worker, and again after its death; None: cold."""
        if not ForkServer.available() or os.environ.get("ARCHIVEBOX_FORK") == "0":
            return None
        if self._fork_server is None or not self._fork_server.alive:
            self._start_fork_server()
        return self._fork_server

    def _start_fork_server(self) -> None:
        key = new_id()
        self._end_fork_server_row()
        server = ForkServer(
            python=sys.executable,
            preload=PRELOAD,
            log=DATA_FOLDER.process_log("forkserver", key, "stderr"),
            spawn_log=self.spawn_log.path,
            sys_path=[str(APPLICATION)],
            data_dir=DATA_FOLDER.root,
            process_id=str(key),
        )
        columns = {
            "machine_id": self.machine_id,
            "parent_id": self.process_id,
            "process_type": Process.TypeChoices.WORKER,
            "worker_type": "forkserver",
            "cmd": [sys.executable, "-I", "forkserver_main.py"],
            "pwd": str(Path.cwd()),
        }
        self.spawn_log.intent(str(key), {name: str(value) for name, value in columns.items() if name != "cmd"})
        try:
            server.begin()
        except ForkServerGone as reason:
            log.warning("Hooks are started cold: %s action=fork_server_failed", reason)
            return
        identity = server.identity
        if identity is not None:
            self.spawn_log.started(str(key), identity)
            boot_id, pid_ns, pid, ticks = identity
            columns |= {"boot_id": boot_id, "pid_ns": pid_ns, "pid": pid, "start_ticks": ticks}
        self.journal.insert(Process, key, {**columns, "status": "running", "started_at": timezone.now()})
        self.exits.attach_fork_server(server)
        self._fork_server, self._fork_server_id = server, key

    def _end_fork_server_row(self, reason: str = "signalled") -> None:
        if self._fork_server_id is not None:
            code = self._fork_server.returncode if self._fork_server is not None else None
            ended = {"status": "exited", "ended_at": timezone.now(), "exit_code": code, "end_reason": reason}
            self.journal.update(Process, self._fork_server_id, ended)
            self._fork_server_id = None

    # --- the end ----------------------------------------------------------------------------------------------

    async def close(self) -> None:
        if self._fork_server is not None:
            self._fork_server.close()
            self._end_fork_server_row("sealed")
        self.exits.close()
        self.outputs.close()
        await self.journal.close()
        self.spawn_log.truncate()
        self.spawn_log.close()
        DATA_FOLDER.spawn_log(self.process_id).unlink(missing_ok=True)

    def started_one(self) -> None:
        """One more line pair stands in the spawn log."""
        self.in_log += 1

    def committed_one(self) -> None:
        """The row of one start is in the database; once all are, the log has done its duty."""
        self.in_log -= 1
        if self.in_log == 0:
            self.spawn_log.truncate()


def share(whole: float, workers: int) -> int:
    """What one of so many workers may use of the whole, at least one."""
    return max(1, int(whole) // max(1, workers))
