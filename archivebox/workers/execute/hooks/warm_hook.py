"""Starts a hook next to a server before there is a crawl for it, so that a crawl finds its browser up (decision 0129).

It is the crawl's own hook, started like any other in a folder of its own. It begins with what takes long, waits at a
socket, and is told there which crawl it is for. It ends when nobody is at the other end of that socket.
"""

import asyncio
import json
import logging
import os
import shutil
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.hook import Hook
from archivebox.contract.ordering import names
from archivebox.contract.records import EndReason, Record, program_records
from archivebox.hooks import (
    Call,
    HookCall,
    Proxy,
    discover_hooks,
    environment_of_process,
    prepare_hook,
    process_hook_records,
)
from archivebox.lib.machine_load import can_spare
from archivebox.lib.mime_sniffing import is_file_url
from archivebox.lib.processes import Child, ExitStatus, Launch, Tree
from archivebox.machine.process import Process
from archivebox.machine.process_row import exited_columns
from archivebox.storage.layout import hook_file
from archivebox.workers.execute.hooks.row import HookRow
from archivebox.workers.queue.readiness_check import drain_problem

if TYPE_CHECKING:
    from archivebox.workers.execute.engine import Engine

log = logging.getLogger(__name__)

SOCKET = "WARM_SOCKET"
"""The variable that names the descriptor of the socket to the hook."""
START_AFTER = 0.5
"""Seconds without any work after which one is started: what comes at once has the processors to itself."""
KEPT_FOR = 600.0
"""Seconds after the latest crawl that would have used one."""
MEMORY_MIN = 750 * 1024 * 1024
"""Bytes that have to be available: a browser that waits has 150 MB of them, and a page wants a few hundred more."""
END_TIME = 3.0
"""Seconds for one to end by itself; it takes 0.1."""
STDERR_KEPT = 2048


class WarmHook:
    """One hook that waits for its crawl: its process, its row, and our end of the socket."""

    def __init__(self, engine: "Engine", call: HookCall) -> None:
        self.call = call
        """How it was started, but for its proxy."""
        self._engine = engine
        self._row = HookRow(engine)
        self._files = hook_file(call.object_dir, call.hook.file_name, self._row.mark, "")
        self._child: Child | None = None
        self._socket: socket.socket | None = None
        self._is_ended_by_us = False
        self._bytes_read = 0
        """Of its output."""
        self.ended: asyncio.Future[None] = engine.loop.create_future()

    @property
    def process_id(self) -> UUID:
        return self._row.process_id

    def start(self, env: dict[str, str]) -> None:
        """Start it; OSError where it cannot be. ``env``: with its proxy."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        waiting = {"process_type": Process.TypeChoices.WORKER, "worker_type": "warm"}
        self._row.announce(self.call, waiting)
        try:
            with theirs:
                self._child = self._engine.starter.spawn(self._launch(env, theirs.fileno()), self.call.hook.preload)
        except OSError as error:
            ours.close()
            self._row.record_refusal(error)
            raise
        self._row.record_start(self._child.identity)
        self._engine.exits.watch(self._child, self._exited)
        ours.setblocking(False)
        self._socket = ours
        self._engine.loop.add_reader(ours, self._receive)

    def _launch(self, env: dict[str, str], descriptor: int) -> Launch:
        for folder in (self.call.cwd, Path(self._files).parent):
            DATA_FOLDER.make_folder(folder, 0o700)
        return Launch(
            process_id=self._row.mark,
            argv=self.call.argv,
            cwd=self.call.cwd,
            env=environment_of_process(env, self._row.mark) | {SOCKET: str(descriptor)},
            stdout=f"{self._files}stdout.log",
            stderr=f"{self._files}stderr.log",
            script=self.call.hook.path if self.call.hook.fork else None,
            file_size_limit=self.call.file_max,
            pass_fds=(descriptor,),
        )

    def _receive(self) -> None:
        """It says that it waits, or has closed its end: then its exit follows."""
        said = b""
        with suppress(ConnectionResetError):
            said = self._socket.recv(1) if self._socket is not None else b""
        if said:
            self._record_programs()
        else:
            self._close()

    def _record_programs(self) -> None:
        """Put on record what it has said of the programs that it runs."""
        with suppress(FileNotFoundError):
            output = Path(f"{self._files}stdout.log").read_bytes()
            new, self._bytes_read = output[self._bytes_read :], len(output)
            if records := program_records(new):
                self._engine.journal.ingest(partial(_store, self.process_id), records, on_refused=log.warning)

    def hand_over(self, launch: Launch) -> Child:
        """Tell it which crawl it is for, whose hook it is from now on, with its logs.

        One that cannot be told ends, and is started again as any hook of a crawl that has died.
        """
        assert self._child is not None  # noqa: S101 - it was started
        self._engine.exits.unwatch(self._child)
        message = {"argv": launch.argv[2:], "cwd": str(launch.cwd), "env": launch.env}
        try:
            os.rename(f"{self._files}stdout.log", launch.stdout)  # noqa: PTH104 - as all paths of hooks, without Path
            os.rename(f"{self._files}stderr.log", launch.stderr)  # noqa: PTH104
            if self._socket is not None:
                self._socket.send(json.dumps(message).encode())
        except OSError as error:
            log.warning("A hook that was started ahead is not used: %s action=warm_lost", error)
        self._close()
        return self._child

    def _close(self) -> None:
        """Let go of it: it ends, unless it has got its crawl."""
        if self._socket is not None:
            self._engine.loop.remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    async def end(self) -> None:
        """End it, and all that it has started, also where it has been killed."""
        assert self._child is not None  # noqa: S101
        self._is_ended_by_us, root, reapers = True, self._child.identity, (os.getpid(),)
        tree = Tree(root=root, process_id=self._row.mark, data_dir=DATA_FOLDER.root, reapers=reapers)
        await tree.end(grace=END_TIME, root_first=END_TIME / 2)
        await self.ended

    def _exited(self, child: Child, status: ExitStatus) -> None:
        self._close()
        self._record_programs()
        stdout, stderr = (Path(f"{self._files}{name}.log") for name in ("stdout", "stderr"))
        columns = exited_columns(status, EndReason.SEALED if self._is_ended_by_us else None)
        with suppress(FileNotFoundError):
            columns["stderr"] = stderr.read_bytes()[-STDERR_KEPT:].decode(errors="replace").replace("\0", "")
        self._engine.journal.update(Process, self.process_id, columns)
        self._engine.journal.after_commit(child.reap)
        for path in (stdout, stderr):
            path.unlink(missing_ok=True)
        self.ended.set_result(None)


class WarmHooks:
    """At most one hook that waits for the next crawl of this worker."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self.is_served = False
        """Whether this worker is a server's: others end with the command that waits for them."""
        self.is_idle: Callable[[], bool] = lambda: False
        """Whether this worker has nothing else to do."""
        self._folder = DATA_FOLDER.warm_hooks(engine.process_id)
        self._waiting: WarmHook | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._recent: Call | None = None
        """Of the latest crawl that would have used one."""
        self._used_at = 0.0

    def note_use(self, call: Call) -> None:
        """A crawl has ended that had one, or would have: the next crawl may be like it."""
        if self.is_served and hook_of(call) is not None:
            self._recent, self._used_at = call, self._engine.loop.time()

    def start_soon(self) -> None:
        """The worker has become idle: start one if it stays so."""
        if self._recent is not None:
            self._engine.loop.call_later(START_AFTER, self.review)

    def review(self) -> None:
        """Start one for a crawl like the latest if there is none, or end the one that may not wait any longer."""
        if self._waiting is not None and not self._may_wait():
            self._discard_waiting()
        elif self._waiting is None and self._recent is not None and self.is_idle() and self._may_wait():
            self._start(self._recent)

    def _may_wait(self) -> bool:
        """Whether one may take memory while nobody uses it."""
        return (
            not (self._engine.stopping or drain_problem())
            and self._engine.loop.time() - self._used_at < KEPT_FOR
            and can_spare(MEMORY_MIN)
            and self._engine.disk.has_space()
            and DATA_FOLDER.run.stat().st_dev == DATA_FOLDER.users.stat().st_dev  # its logs are moved to its crawl
        )

    def _start(self, recent: Call) -> None:
        hook = hook_of(recent)
        if hook is None:
            return
        waiting = WarmHook(self._engine, self._call(hook, recent))
        try:
            waiting.start(self._call(hook, recent, self._engine.proxies.reserve()).env)
        except OSError as error:
            log.warning("Nothing is started ahead: %s action=warm_failed", error)
            self._recent = None
            self._engine.proxies.drop_reserved()
            return
        self._waiting = waiting
        waiting.ended.add_done_callback(partial(self._has_ended, waiting))

    def _call(self, hook: Hook, call: Call, proxy: Proxy | None = None) -> HookCall:
        """How it is started for a crawl with the settings of this one."""
        programs = self._engine.programs
        settings, paths, versions = call.settings, programs.paths, programs.versions
        return prepare_hook(hook, Call(self._folder, {}, {}, {}, settings, paths, versions=versions, proxy=proxy))

    def _has_ended(self, warm: WarmHook, _: object) -> None:
        """It has ended by itself, if it is still waited for: the next one is started after the next crawl."""
        if warm is self._waiting:
            self._recent = None
            self._discard_waiting()

    def claim(self, crawl_id: UUID, call: Call) -> WarmHook | None:
        """The one that waits, if this crawl would start it just so; else it is ended.

        The crawl has its port from now on, so ask before the crawl gets another one.
        """
        waiting, hook = self._waiting, hook_of(call)
        if waiting is None or hook is None or self._engine.proxies.is_known(crawl_id):
            return None
        if self._call(hook, call) != waiting.call:
            self._discard_waiting()
            return None
        self._waiting = None
        self._engine.proxies.assign_reserved(crawl_id)
        self._engine.journal.effect(partial(_note_crawl, waiting.process_id, crawl_id))
        return waiting

    def discard(self, warm: WarmHook) -> None:
        """End one that its crawl has not used."""
        task = self._engine.in_background(warm.end())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _discard_waiting(self) -> None:
        if self._waiting is not None:
            warm, self._waiting = self._waiting, None
            self._engine.proxies.drop_reserved()
            self.discard(warm)

    async def end(self) -> None:
        """End the one that waits, and what it has left."""
        self._discard_waiting()
        await asyncio.gather(*self._ending)
        shutil.rmtree(self._folder, ignore_errors=True)


def hook_of(call: Call) -> Hook | None:
    """The hook of a crawl that may be started before it; None: it waits for others, or the crawl begins with a file."""
    if not call.settings.get_flag("WARM_BROWSER") or is_file_url(call.arguments.get("url", "")):
        return None
    hooks = [hook for hook in discover_hooks("Crawl") if call.settings.reason_to_skip(hook) is None]
    warm = next((hook for hook in hooks if hook.warm), None)
    return None if warm is None or any(not names(hook).isdisjoint(warm.after) for hook in hooks) else warm


def _store(process_id: UUID, records: Sequence[Record]) -> None:
    process_hook_records(records, {"process": Process.objects.get(pk=process_id)})


def _note_crawl(process_id: UUID, crawl_id: UUID) -> None:
    Process.objects.filter(parent_id=process_id).update(crawl_id=crawl_id)
