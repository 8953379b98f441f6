"""The egress process: one per orchestrator; serves the ports of all its crawls, and ends with it."""

import asyncio
import logging
import resource
import signal
import socket
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError, connection

from archivebox.base_models.work import RENEW_EVERY
from archivebox.config.resolve import SettingError
from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.egress import ConnectionPolicy, Endpoint, NotConnected, NotConnectedReason, ProxyListener
from archivebox.lib.networks import IPAddress
from archivebox.lib.processes import marks_of_listeners
from archivebox.machine.process import Process
from archivebox.workers.egress import policies
from archivebox.workers.egress.crawl_proxies import hook_password, receive_sockets
from archivebox.workers.egress.local_addresses import LocalAddresses, key_of, line_of
from archivebox.workers.egress.policies import Hooks
from archivebox.workers.signals import WorkerSignal, say_alive

log = logging.getLogger(__name__)
T = TypeVar("T")

SWEEP_EVERY = 1.0
"""Seconds between two looks at what is idle, and two savings of totals."""
FORGET_AFTER = 60.0
"""Seconds for which a port is served that no worker holds: its crawl's browser may be taken over by another."""
PENDING_MAX = 128 * 1024
"""Bytes that wait for one worker: more than everything that is remembered of a crawl."""
ROW_TIME = 2.0
"""Seconds in which the row of a process is there that has been started: ten times what workers take to write it."""


@dataclass(slots=True, eq=False)
class WorkerStream:
    """What leads to a worker that holds a proxy listener open, and what could not be sent to it yet."""

    stream: socket.socket
    pending: bytearray = field(default_factory=bytearray)

    def tell(self, line: bytes) -> None:
        """Send a line; one that does not read for long learns less."""
        if len(self.pending) < PENDING_MAX:
            self.pending += line
        with suppress(OSError):  # it reads nothing now, or has gone, as its end of the stream says
            del self.pending[: self.stream.send(self.pending)]


@dataclass(slots=True, eq=False)
class Workers:
    """The workers that hold a proxy listener open, and from where its connections left, as they know."""

    ties: set[WorkerStream] = field(default_factory=set)
    local_addresses: LocalAddresses = field(default_factory=LocalAddresses)

    def add(self, tie: WorkerStream) -> None:
        self.ties.add(tie)
        for line in self.local_addresses.lines():
            tie.tell(line)

    def connected(self, user: str, place: Endpoint, local_address: str) -> None:
        """Tell them from where a connection left, if that is news."""
        key = key_of(user, place)
        if self.local_addresses.add(key, local_address):
            for tie in self.ties:
                tie.tell(line_of(key, local_address))


@dataclass(slots=True, eq=False)
class CrawlListener:
    """The proxy listener of one crawl, and who holds it open."""

    proxy_listener: ProxyListener
    workers: Workers
    ports: set[int] = field(default_factory=set)
    marks: set[str] = field(default_factory=set)
    """Of processes of the crawl, as far as they were asked for."""
    left_at: float = 0.0


class Egress:
    """Serves until told to stop. ``ports_in`` brings ports; ``pulse`` leads to the orchestrator."""

    def __init__(self, ports_in: socket.socket, pulse: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._ports_in, self._pulse = ports_in, pulse
        self._gates: dict[UUID, CrawlListener] = {}
        self._ports: set[int] = set()
        self._stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._database = ThreadPoolExecutor(1, "database")

    async def run(self) -> None:
        for signum in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(signum, self._stopping.set)
        for stream in (self._ports_in, self._pulse):
            stream.setblocking(False)
        self._loop.add_reader(self._pulse.fileno(), self._orchestrator_spoke)
        self._loop.add_reader(self._ports_in.fileno(), self._receive_sockets)
        try:
            await asyncio.gather(self._sweep(), self._send_heartbeats())
        finally:
            for gate in self._gates.values():
                gate.proxy_listener.close()

    # --- the orchestrator -------------------------------------------------------------------------------------

    def _orchestrator_spoke(self) -> None:
        """It says nothing to us that matters but by its end."""
        try:
            if self._pulse.recv(64):
                return
        except (BlockingIOError, ConnectionResetError):
            pass
        self._loop.remove_reader(self._pulse.fileno())
        self._stopping.set()

    async def _send_heartbeats(self) -> None:
        while not await self._stops_within(RENEW_EVERY):
            try:
                self._pulse.send(WorkerSignal.HEARTBEAT)
            except OSError:
                self._stopping.set()

    async def _stops_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return False
        return True

    # --- ports ------------------------------------------------------------------------------------------------

    def _receive_sockets(self) -> None:
        while (handed := receive_sockets(self._ports_in)) is not None:
            self._spawn(self._open(*handed))

    async def _open(self, crawl_id: UUID, listener: socket.socket, tie: socket.socket) -> None:
        gate = self._gates.get(crawl_id)
        if gate is None:
            gate = self._gates[crawl_id] = self._gate_of(crawl_id)
        port = listener.getsockname()[1]
        gate.ports.add(port)
        self._ports.add(port)
        tie.setblocking(False)
        gate.workers.add(known := WorkerStream(tie))
        self._loop.add_reader(tie.fileno(), self._forget_worker, gate, known)
        await gate.proxy_listener.listen(listener)

    def _forget_worker(self, gate: CrawlListener, tie: WorkerStream) -> None:
        """A worker has nothing of this crawl any more, or has died; it says nothing by this socket but that."""
        self._loop.remove_reader(tie.stream.fileno())
        tie.stream.close()
        gate.workers.ties.discard(tie)
        gate.left_at = self._loop.time()

    async def _sweep(self) -> None:
        while not await self._stops_within(SWEEP_EVERY):
            for crawl_id, gate in list(self._gates.items()):
                gate.proxy_listener.sweep()
                if (
                    not gate.workers.ties
                    and not gate.proxy_listener.is_used
                    and self._loop.time() - gate.left_at > FORGET_AFTER
                ):
                    self._forget(crawl_id)

    def _forget(self, crawl_id: UUID) -> None:
        gate = self._gates.pop(crawl_id)
        gate.proxy_listener.close()
        self._ports -= gate.ports
        DATA_FOLDER.crawl_port(crawl_id).unlink(missing_ok=True)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- rules ------------------------------------------------------------------------------------------------

    def _gate_of(self, crawl_id: UUID) -> CrawlListener:
        workers = Workers()
        proxy_listener = ProxyListener(
            partial(self._learn, crawl_id), partial(self._is_full, crawl_id), workers.connected
        )
        return CrawlListener(proxy_listener, workers)

    async def _learn(self, crawl_id: UUID) -> ConnectionPolicy:
        facts = await self._ask(partial(policies.read_facts, crawl_id))

        async def is_named(place: Endpoint) -> bool:
            return await self._ask(partial(policies.is_named, crawl_id, place))

        hooks = Hooks(hook_password(crawl_id), partial(self._is_crawls_own, crawl_id))
        return facts.policy(is_named, self._ports, hooks)

    async def _is_crawls_own(self, crawl_id: UUID, address: IPAddress, port: int) -> bool:
        """Whether processes of the crawl, and nobody else, listen there."""
        look = partial(marks_of_listeners, address, port, DATA_FOLDER.root)
        sockets = await self._loop.run_in_executor(None, look)
        for marks in sockets:
            if not any([await self._is_crawls_mark(crawl_id, mark) for mark in marks]):
                return False
        return bool(sockets)

    async def _is_crawls_mark(self, crawl_id: UUID, mark: str) -> bool:
        known = self._gates[crawl_id].marks if crawl_id in self._gates else set()
        if mark in known:
            return True
        found = await self._ask(partial(policies.crawl_of, mark))
        deadline = self._loop.time() + ROW_TIME
        while found is None and self._loop.time() < deadline:
            await asyncio.sleep(ROW_TIME / 20)
            found = await self._ask(partial(policies.crawl_of, mark))
        if found == (crawl_id,):
            known.add(mark)
        return found == (crawl_id,)

    def _is_full(self, crawl_id: UUID) -> None:
        log.warning("Crawl %s has received all that it may action=crawl_full", crawl_id)
        self._spawn(self._stop(crawl_id))

    async def _stop(self, crawl_id: UUID) -> None:
        with suppress(NotConnected):  # nothing comes in any more, whether the rows can be written now or not
            await self._ask(partial(policies.stop_full_crawl, crawl_id))

    async def _ask(self, question: Callable[[], T]) -> T:
        """Of the database, in its thread; NotConnected while it cannot tell: no answer opens nothing."""
        try:
            return await self._loop.run_in_executor(self._database, partial(_on_a_connection, question))
        except (DatabaseError, ObjectDoesNotExist, SettingError, OSError) as error:
            log.warning("The rules of a crawl cannot be read: %s action=rules_unknown", error)
            raise NotConnected(
                NotConnectedReason.RULES_UNKNOWN, f"The rules of this crawl cannot be read: {error}."
            ) from error


def _on_a_connection(question: Callable[[], T]) -> T:
    """Asked so seldom that none is kept."""
    try:
        return question()
    finally:
        connection.close()


def main(process_id: UUID, orchestrator_id: UUID, *, ports_in: socket.socket, pulse: socket.socket) -> int:
    """Be the egress process until told to stop, or until the orchestrator has gone; returns the exit status."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # two for each connection
    return Process.run_service(
        process_id,
        orchestrator_id,
        "egress",
        lambda: asyncio.run(_serve(ports_in, pulse)),
        while_away=partial(say_alive, pulse.fileno()),
    )


async def _serve(ports_in: socket.socket, pulse: socket.socket) -> None:
    await Egress(ports_in, pulse).run()
