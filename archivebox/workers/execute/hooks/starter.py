"""Starts the hooks of one worker: forked from a warm Python where that may be, else cold; each start is in its log."""

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import UUID

from archivebox.base_models.rows import new_id
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.records import EndReason
from archivebox.hooks import HOOK_PATH
from archivebox.lib import processes
from archivebox.lib.jsonl import JSON
from archivebox.lib.processes import (
    Child,
    ExitStatus,
    ExitWatcher,
    ForkServer,
    ForkServerGone,
    Launch,
    ProcessIdentity,
    SpawnLog,
)
from archivebox.machine.logtail import TAIL, read_tail
from archivebox.machine.process import Process
from archivebox.machine.process_row import exited_columns, started_columns
from archivebox.workers.execute.journal import Journal

log = logging.getLogger(__name__)

PRELOAD = (
    "archivebox.lib.mime_sniffing",
    "archivebox.plugins.base.programs",
    "archivebox.lib.retry_after",
    "archivebox.plugins.base.tab",
    "argparse",
    "gettext",
    "locale",
    "shutil",
    "tempfile",
)
"""Modules that the first hooks import, those of the browser; warm in the fork server of our own Python.

Those that argparse imports only when it is used are named too: they are 4 of the 8 ms of a plain hook's CPU.
"""

PRELOAD_LATER = (
    "urllib.parse",
    "base64",
    "hashlib",
    "archivebox.plugins.base.responses",
    "archivebox.plugins.base.warc_file",
    "archivebox.plugins.base.engine",
    "archivebox.plugins.base.extension",
    "archivebox.plugins.base.inject",
    "archivebox.lib.files",
    "html",
    "mimetypes",
    "secrets",
    "shlex",
    "PIL.BmpImagePlugin",
    "PIL.GifImagePlugin",
    "PIL.JpegImagePlugin",
    "PIL.PngImagePlugin",
    "PIL.PpmImagePlugin",
    "PIL.WebPImagePlugin",
    "archivebox.plugins.base.stored_html",
    "archivebox.plugins.base.html_text",
    "archivebox.plugins.base.links",
    "archivebox.plugins.base.resources",
    "archivebox.plugins.base.searching",
    "archivebox.plugins.base.article",
    "archivebox.plugins.base.download",
    "dataclasses",
    "pathlib",
    "sqlite3",
    "urllib.request",
)
"""Modules that hooks of most pages import, up to 20 ms each, in that order: warm once the browser has started.

Of Pillow there are the formats that it loads whenever it writes one. ``lib.files`` has had mimetypes read the system's
table, which takes each process 2 ms and more that asks for a type or makes a table of its own.
"""


@dataclass(frozen=True, slots=True)
class RecordedServer:
    """A fork server, and the key of its Process row."""

    server: ForkServer
    row: UUID


class HookStarter:
    """The spawn log and the fork servers of one worker."""

    def __init__(self, worker: Process, journal: Journal, exits: ExitWatcher) -> None:
        self._worker_id: UUID = worker.pk
        self._machine_id: UUID = worker.machine_id
        self._journal = journal
        self._exits = exits
        self._spawn_log = SpawnLog(DATA_FOLDER.spawn_log(worker.pk))
        self._in_log = 0
        self._own = _folder_of(sys.executable)
        self._used_once: set[str] = set()
        """Pythons of environments by which a hook has been started since the worker was idle."""
        self._servers: dict[str, RecordedServer] = {}
        """By the folder that their Python really lies in: an environment that was upgraded is another."""

    # --- the log ----------------------------------------------------------------------------------------------

    def intent(self, process_id: str, row: Mapping[str, JSON]) -> None:
        """Say that a hook is about to be started, before it can have an effect."""
        self._spawn_log.intent(process_id, row)
        self._in_log += 1

    def started(self, process_id: str, identity: ProcessIdentity) -> None:
        """Say who it became."""
        self._spawn_log.started(process_id, identity)

    def committed(self) -> None:
        """The row of one start is in the database; once all are, the log has done its duty."""
        self._in_log -= 1
        if self._in_log == 0:
            self._spawn_log.truncate()

    # --- starting ---------------------------------------------------------------------------------------------

    def spawn(self, launch: Launch, preload: Sequence[str] = ()) -> Child:
        """Start a hook; ``preload``: what a Python that is not ours is to have warm. Raises OSError if it cannot be."""
        if launch.script is not None:
            python = launch.argv[0]
            server = self.warm_up() if python == sys.executable else self._server_of_environment(python, preload)
            if server is not None:
                try:
                    return server.spawn(launch)
                except ForkServerGone as reason:
                    log.debug("started cold: %s", reason)
            launch.env["PYTHONPATH"] = str(HOOK_PATH)
        return processes.spawn(launch)

    def warm_up(self) -> ForkServer | None:
        """The fork server of our own Python; started at once by a new worker. None: hooks start cold."""
        return self._fork_server(self._own, sys.executable, PRELOAD, PRELOAD_LATER)

    @property
    def own_pids(self) -> tuple[int, ...]:
        """Children of the worker that are no hooks."""
        identities = (known.server.identity for known in self._servers.values())
        return tuple(identity.pid for identity in identities if identity is not None)

    def _server_of_environment(self, python: str, preload: Sequence[str]) -> ForkServer | None:
        """The fork server of an environment, if it is warm: nobody waits for it, and a single hook is not worth one."""
        if python not in self._used_once:
            self._used_once.add(python)
            return None
        server = self._fork_server(_folder_of(python), python, preload)
        return server if server is not None and server.is_warm else None

    def _fork_server(
        self, folder: str, python: str, preload: Sequence[str], later: Sequence[str] = ()
    ) -> ForkServer | None:
        """The one of a Python, started again after its death."""
        if not ForkServer.available() or os.environ.get("ARCHIVEBOX_FORK") == "0":
            return None
        known = self._servers.get(folder)
        if known is not None and not known.server.alive:
            self._close_row(self._servers.pop(folder), EndReason.SIGNALLED)
            known = None
        if known is None and (known := self._start_server(python, preload, later)) is not None:
            self._servers[folder] = known
        return None if known is None else known.server

    def _start_server(self, python: str, preload: Sequence[str], later: Sequence[str]) -> RecordedServer | None:
        key = new_id()
        server = ForkServer(
            python=python,
            preload=preload,
            later=later,
            log=DATA_FOLDER.process_log("forkserver", key, "stderr"),
            spawn_log=self._spawn_log.path,
            sys_path=[str(HOOK_PATH)],
            data_dir=DATA_FOLDER.root,
            process_id=str(key),
        )
        columns = {
            "machine_id": self._machine_id,
            "parent_id": self._worker_id,
            "process_type": Process.TypeChoices.WORKER,
            "worker_type": "forkserver",
            "cmd": [python, "-I", "forkserver_main.py"],
            "pwd": str(Path.cwd()),
        }
        self._spawn_log.intent(str(key), {name: str(value) for name, value in columns.items() if name != "cmd"})
        try:
            server.begin()
        except (ForkServerGone, OSError) as reason:
            log.warning("Hooks are started cold: %s action=fork_server_failed", reason)
            return None
        identity = server.identity
        if identity is not None:
            self._spawn_log.started(str(key), identity)
            columns |= started_columns(identity)
        self._journal.insert(Process, key, columns)
        self._exits.attach_fork_server(server)
        return RecordedServer(server, key)

    def _close_row(self, ended: RecordedServer, reason: EndReason) -> None:
        log_file = DATA_FOLDER.process_log("forkserver", ended.row, "stderr")
        tail, size = read_tail(log_file)
        columns = exited_columns(ExitStatus(ended.server.returncode), reason) | {"stderr": tail, "stderr_size": size}
        self._journal.update(Process, ended.row, columns)
        if size <= TAIL:
            self._journal.after_commit(partial(log_file.unlink, missing_ok=True))

    # --- the end ----------------------------------------------------------------------------------------------

    def end_servers_of_environments(self) -> None:
        """End all but that of our own Python: no page is here that would want one."""
        self._used_once.clear()
        for folder, known in list(self._servers.items()):
            if folder != self._own and not known.server.has_children:
                self._exits.detach_fork_server(known.server)
                self._end_server(self._servers.pop(folder))

    def end_servers(self) -> None:
        """End them all: nothing is started any more."""
        while self._servers:
            self._end_server(self._servers.popitem()[1])

    def _end_server(self, known: RecordedServer) -> None:
        known.server.close()
        self._close_row(known, EndReason.SEALED)

    def close(self) -> None:
        """Let go of the log: every row it holds is committed."""
        self._spawn_log.truncate()
        self._spawn_log.close()
        self._spawn_log.path.unlink(missing_ok=True)


def _folder_of(python: str) -> str:
    """Where it really lies."""
    return str(Path(python).parent.resolve())
