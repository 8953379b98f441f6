"""One program of a plugin that was started ahead for the next crawl: its process, its row, and the socket to it."""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from archivebox.base_models.rows import new_id
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.hook import Hook
from archivebox.contract.records import EndReason, Record, program_records
from archivebox.hooks import environment_of_process, process_hook_records
from archivebox.lib.processes import Child, ExitStatus, Launch, Tree
from archivebox.machine.process import Process
from archivebox.machine.process_row import exited_columns, started_columns
from archivebox.workers.early_spare import NOT_WANTED, SOCKET, EarlySpare

if TYPE_CHECKING:
    from archivebox.workers.execute.engine import Engine

log = logging.getLogger(__name__)

MESSAGE_MAX = 64


class SpareCall(NamedTuple):
    """What is to be started ahead. ``env``: what the hook would find, but for the crawl and its port."""

    hook: Hook
    env: Mapping[str, str]
    proxied_env: dict[str, str]
    """The same, with the port that is reserved for the crawl."""

    def is_like(self, other: "SpareCall") -> bool:
        """Whether both are started alike, whatever their ports."""
        return (self.hook.path, self.env) == (other.hook.path, other.env)

    @property
    def argv(self) -> tuple[str, ...]:
        return (sys.executable, str(self.hook.path.with_name(self.hook.spare)))


class SpareProcess:
    """A process that waits for a crawl. Whoever is at the other end of its socket has it; it ends when nobody is."""

    def __init__(self, engine: "Engine", call: SpareCall) -> None:
        self._engine = engine
        self.call = call
        self.process_id: UUID = new_id()
        self._mark = str(self.process_id)
        self._stdout, self._stderr = (
            DATA_FOLDER.process_log("spare", self.process_id, stream) for stream in ("stdout", "stderr")
        )
        self._socket: socket.socket | None = None
        self._is_ours = True
        """Whether this worker looks after its end."""
        self._child: Child | None = None
        self._programs = 0
        """Bytes of its output of which the records are in the database."""
        self.is_unwanted = False
        """Whether it has said, or its hook, that no crawl with such settings can use it."""
        self.ended: asyncio.Future[None] = engine.loop.create_future()

    def start(self) -> None:
        """Start it; OSError where it cannot be: then it is as if it had not been wanted."""
        columns = self._columns()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._engine.starter.intent(self._mark, {name: str(value) for name, value in columns.items() if name != "cmd"})
        try:
            with theirs:
                self._child = self._engine.starter.spawn(self._launch(theirs.fileno()))
        except OSError:
            ours.close()
            self._engine.starter.committed()
            raise
        self._engine.starter.started(self._mark, self._child.identity)
        self._engine.journal.insert(Process, self.process_id, columns | started_columns(self._child.identity))
        self._engine.journal.after_commit(self._engine.starter.committed)
        self._engine.exits.watch(self._child, self._exited)
        self._connect(ours)

    def _connect(self, ours: socket.socket) -> None:
        ours.setblocking(False)
        self._socket = ours
        self._engine.loop.add_reader(ours, self._receive)

    @classmethod
    def of_command(cls, engine: "Engine", call: SpareCall, early: EarlySpare) -> "SpareProcess":
        """The one that the command of this worker has started and looks after; it is on record."""
        spare = cls(engine, call)
        spare.process_id, spare._is_ours = UUID(early.process_id), False
        spare._stdout, spare._stderr = early.stdout, early.stderr
        spare._connect(early.detach_control())
        return spare

    def _columns(self) -> dict[str, object]:
        return {
            "machine_id": self._engine.machine_id,
            "parent_id": self._engine.process_id,
            "process_type": Process.TypeChoices.WORKER,
            "worker_type": "spare",
            "plugin": self.call.hook.plugin,
            "hook_name": self.call.hook.spare,
            "cmd": list(self.call.argv),
            "pwd": str(self._folder),
        }

    @property
    def _folder(self) -> Path:
        return DATA_FOLDER.spares / self.call.hook.plugin

    def _launch(self, descriptor: int) -> Launch:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Launch(
            process_id=self._mark,
            argv=self.call.argv,
            cwd=self._folder,
            env=environment_of_process(self.call.proxied_env, self._mark) | {SOCKET: str(descriptor)},
            stdout=self._stdout,
            stderr=self._stderr,
            script=Path(self.call.argv[1]),
            file_size_limit=self._engine.file_max,
            pass_fds=(descriptor,),
        )

    # --- while it waits ---------------------------------------------------------------------------------------

    def _receive(self) -> None:
        """It says that it is ready, or has closed its end: then its exit follows."""
        said = b""
        with suppress(ConnectionResetError):
            said = self._socket.recv(MESSAGE_MAX) if self._socket is not None else b""
        if said:
            self._read_programs()
        else:
            self.release()

    def _read_programs(self) -> None:
        """Put on record what it said of the programs that it runs."""
        try:
            output = self._stdout.read_bytes()
        except OSError as error:
            log.warning("The output of %s cannot be read: %s action=spare_unread", self._mark, error)
            return
        new, self._programs = output[self._programs :], len(output)
        if records := program_records(new):
            self._engine.journal.ingest(self._store, records, on_refused=self._refused)

    def _store(self, records: Sequence[Record]) -> None:
        process_hook_records(records, {"process": Process.objects.get(pk=self.process_id)})

    def _refused(self, problem: str) -> None:
        log.warning("A program of %s is not on record: %s action=record_refused", self._mark, problem)

    def take(self, crawl_id: UUID) -> None:
        """It is a crawl's from now on, with its programs."""
        self._engine.journal.update(Process, self.process_id, {"crawl_id": crawl_id})
        self._engine.journal.effect(partial(_note_crawl, self.process_id, crawl_id))
        if not self._is_ours:
            self._read_programs()

    @property
    def descriptor(self) -> int | None:
        """The end of the socket that leads to it, for a hook to inherit; None: it is gone, or somebody has it."""
        return None if self._socket is None else self._socket.fileno()

    def release(self) -> None:
        """Let go of it: it ends, unless a hook has inherited our end of the socket."""
        if self._socket is not None:
            self._engine.loop.remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def finish(self) -> None:
        """The crawl that had it has ended."""
        self.release()
        if not self._is_ours:  # else its end tells us when to read the last of what it said
            self._read_programs()

    # --- its end ----------------------------------------------------------------------------------------------

    def _exited(self, child: Child, status: ExitStatus) -> None:
        self.release()
        self._read_programs()
        self.is_unwanted = status.exit_code == NOT_WANTED
        reason = EndReason.SEALED if status.exit_code in (0, NOT_WANTED) else None
        self._engine.journal.update(Process, self.process_id, exited_columns(status, reason))
        self._engine.journal.after_commit(child.reap)
        self._stdout.unlink(missing_ok=True)
        if reason is not None:
            self._stderr.unlink(missing_ok=True)
        if not self.ended.done():
            self.ended.set_result(None)

    async def end(self, grace: float) -> None:
        """End it, if a hook does not: by itself within ``grace`` seconds, else its whole tree is killed."""
        self.release()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await asyncio.shield(self.ended)
        if not self.ended.done() and self._child is not None:
            root, reapers = self._child.identity, (os.getpid(),)
            tree = Tree(root=root, process_id=self._mark, data_dir=DATA_FOLDER.root, reapers=reapers)
            await tree.end(grace=0.0)
            await self.ended


def _note_crawl(process_id: UUID, crawl_id: UUID) -> None:
    Process.objects.filter(parent_id=process_id).update(crawl_id=crawl_id)
