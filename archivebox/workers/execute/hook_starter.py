"""Starts the hooks of one worker: forked from a warm Python where that may be, else cold; each start is in its log."""

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from archivebox.base_models.rows import new_id
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.records import EndReason
from archivebox.hooks import APPLICATION
from archivebox.lib import processes
from archivebox.lib.jsonl import JSON
from archivebox.lib.processes import (
    Child,
    ExitStatus,
    ExitWatcher,
    ForkServer,
    ForkServerGone,
    Identity,
    Launch,
    SpawnLog,
)
from archivebox.machine.process import Process
from archivebox.machine.process_row import exited_columns, started_columns
from archivebox.workers.execute.journal import Journal

log = logging.getLogger(__name__)

PRELOAD = (
    "archivebox.plugins.base.programs",
    "archivebox.plugins.base.retry_after",
    "archivebox.plugins.base.tab",
    "argparse",
    "gettext",
    "locale",
    "shutil",
    "tempfile",
)
"""Modules that the first hooks import, those of the browser; warm in the fork server, which every hook is forked from.

Those that argparse imports only when it is used are named too: they are 4 of the 8 ms of a plain hook's CPU.
"""

PRELOAD_LATER = (
    "hashlib",
    "archivebox.lib.files",
    "archivebox.plugins.base.extension",
    "urllib.parse",
    "archivebox.plugins.base.inject",
    "archivebox.plugins.base.lifeline",
    "archivebox.plugins.base.responses",
    "archivebox.plugins.base.warc_file",
    "dataclasses",
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
    "archivebox.plugins.base.article",
    "archivebox.plugins.base.html_text",
    "archivebox.plugins.base.links",
    "archivebox.plugins.base.media_types",
    "archivebox.plugins.base.page_reader",
    "archivebox.plugins.base.resources",
    "archivebox.plugins.base.segments",
    "archivebox.plugins.base.stored_html",
    "archivebox.plugins.base.download",
    "pathlib",
    "sqlite3",
    "urllib.request",
)
"""Modules that hooks of most pages import, up to 20 ms each: warm once the browser has started.

Of Pillow there are the formats that it loads whenever it writes one. ``lib.files`` has had mimetypes read the system's
table, which takes each process 2 ms and more that asks for a type or makes a table of its own.
"""


class HookStarter:
    """The spawn log and the fork server of one worker."""

    def __init__(self, worker: Process, journal: Journal, exits: ExitWatcher) -> None:
        self._worker_id: UUID = worker.pk
        self._machine_id: UUID = worker.machine_id
        self._journal = journal
        self._exits = exits
        self._spawn_log = SpawnLog(DATA_FOLDER.spawn_log(worker.pk))
        self._in_log = 0
        self._server: ForkServer | None = None
        self._server_row: UUID | None = None

    # --- the log ----------------------------------------------------------------------------------------------

    def intent(self, process_id: str, row: Mapping[str, JSON]) -> None:
        """Say that a hook is about to be started, before it can have an effect."""
        self._spawn_log.intent(process_id, row)
        self._in_log += 1

    def started(self, process_id: str, identity: Identity) -> None:
        """Say who it became."""
        self._spawn_log.started(process_id, identity)

    def committed(self) -> None:
        """The row of one start is in the database; once all are, the log has done its duty."""
        self._in_log -= 1
        if self._in_log == 0:
            self._spawn_log.truncate()

    # --- starting ---------------------------------------------------------------------------------------------

    def spawn(self, launch: Launch) -> Child:
        """Start a hook. Raises OSError if it cannot be."""
        if launch.script is not None:
            server = self.warm_up()
            if server is not None:
                try:
                    return server.spawn(launch)
                except ForkServerGone as reason:
                    log.debug("started cold: %s", reason)
            launch.env["PYTHONPATH"] = str(APPLICATION)
        return processes.spawn(launch)

    def warm_up(self) -> ForkServer | None:
        """The fork server; started at once by a new worker, and again after its death. None: hooks start cold."""
        if not ForkServer.available() or os.environ.get("ARCHIVEBOX_FORK") == "0":
            return None
        if self._server is None or not self._server.alive:
            self._start_server()
        return self._server

    @property
    def own_pids(self) -> tuple[int, ...]:
        """Children of the worker that are no hooks."""
        server = self._server.identity if self._server is not None else None
        return () if server is None else (server.pid,)

    def _start_server(self) -> None:
        key = new_id()
        self._end_server_row()
        server = ForkServer(
            python=sys.executable,
            preload=PRELOAD,
            later=PRELOAD_LATER,
            log=DATA_FOLDER.process_log("forkserver", key, "stderr"),
            spawn_log=self._spawn_log.path,
            sys_path=[str(APPLICATION)],
            data_dir=DATA_FOLDER.root,
            process_id=str(key),
        )
        columns = {
            "machine_id": self._machine_id,
            "parent_id": self._worker_id,
            "process_type": Process.TypeChoices.WORKER,
            "worker_type": "forkserver",
            "cmd": [sys.executable, "-I", "forkserver_main.py"],
            "pwd": str(Path.cwd()),
        }
        self._spawn_log.intent(str(key), {name: str(value) for name, value in columns.items() if name != "cmd"})
        try:
            server.begin()
        except ForkServerGone as reason:
            log.warning("Hooks are started cold: %s action=fork_server_failed", reason)
            return
        identity = server.identity
        if identity is not None:
            self._spawn_log.started(str(key), identity)
            columns |= started_columns(identity)
        self._journal.insert(Process, key, columns)
        self._exits.attach_fork_server(server)
        self._server, self._server_row = server, key

    def _end_server_row(self, reason: EndReason = EndReason.SIGNALLED) -> None:
        if self._server_row is not None:
            code = self._server.returncode if self._server is not None else None
            self._journal.update(Process, self._server_row, exited_columns(ExitStatus(code), reason))
            self._server_row = None

    # --- the end ----------------------------------------------------------------------------------------------

    def end_server(self) -> None:
        """End the fork server: nothing is started any more."""
        if self._server is not None:
            self._server.close()
            self._end_server_row(EndReason.SEALED)

    def close(self) -> None:
        """Let go of the log: every row it holds is committed."""
        self._spawn_log.truncate()
        self._spawn_log.close()
        self._spawn_log.path.unlink(missing_ok=True)
