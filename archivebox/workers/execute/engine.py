"""What all executors of one worker share: its loop, database thread, exits, outputs, starter of hooks and places."""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from archivebox.config.resolve import Resolved
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.binaries import BinaryRequest
from archivebox.lib import processes
from archivebox.lib.processes import ExitStatus, ProcessIdentity
from archivebox.machine.binary import Binary
from archivebox.machine.host import NetworkInterface
from archivebox.machine.process import Process
from archivebox.workers.egress.crawl_proxies import CrawlProxies
from archivebox.workers.egress.local_addresses import place_key
from archivebox.workers.execute.capacity.debounced_call import DebouncedCall
from archivebox.workers.execute.capacity.slots import LATE_AFTER, HookSlots
from archivebox.workers.execute.capacity.tabs import Tabs
from archivebox.workers.execute.hooks.output_watch import Outputs
from archivebox.workers.execute.hooks.starter import HookStarter
from archivebox.workers.execute.hooks.warm_hook import WarmHooks
from archivebox.workers.execute.journal import Journal
from archivebox.workers.queue.disk_space import DiskSpaceGuard

log = logging.getLogger(__name__)
T = TypeVar("T")

TRANSFERS = 4
"""Pages that a worker exchanges with the object store at a time."""
DOWNLOADS_PER_CORE = 4
"""Hooks that only wait for the network."""
ATTENDED_AFTER = 0.1
"""Seconds until a foreground hook is attended to while it runs: most have ended by then."""


@dataclass(slots=True)
class Programs:
    """What is known of the programs of this machine; read again at each poll."""

    paths: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    status: dict[str, str] = field(default_factory=dict)
    asked_for: set[str] = field(default_factory=set)
    """Those without a row that hooks of this worker have asked for."""

    def learn(self, status: dict[str, str], paths: dict[str, str], versions: dict[str, str]) -> None:
        """Take over what the rows say now; in place, since the calls of running objects look at the same dicts."""
        for known, now in ((self.status, status), (self.paths, paths), (self.versions, versions)):
            known.clear()
            known.update(now)


class Interfaces:
    """By which network interface connections left: the rows of addresses come across, each of which is written once."""

    def __init__(self, journal: Journal, proxies: CrawlProxies, machine_id: UUID) -> None:
        self._journal, self._proxies, self._machine_id = journal, proxies, machine_id
        self._keys: dict[str, UUID] = {}

    def of_process(self, crawl_id: UUID, process_id: UUID) -> UUID | None:
        """By which the connections left that a process made itself, or its programs; None where it made none."""
        return self._key_of(self._proxies.local_address(crawl_id, str(process_id)))

    def of_url(self, crawl_id: UUID, url: str) -> UUID | None:
        """By which the crawl's browser reached the host of a URL; None where it did not."""
        return self._key_of(self._proxies.local_address(crawl_id, place_key(url)))

    def _key_of(self, address: str) -> UUID | None:
        if not address:
            return None
        if address not in self._keys:
            row = NetworkInterface.with_address(self._machine_id, address)
            self._journal.effect(row.save_if_new)
            self._keys[address] = row.pk
        return self._keys[address]


class WorkerCount(NamedTuple):
    """How many workers there are, and how many there may be: what the machine does at once is divided among them."""

    at_work: int
    most: int


class ConcurrencyLimits(NamedTuple):
    """How much of each kind all workers of this machine do at a time."""

    pages: int
    hooks: int
    downloads: int
    tabs: int
    crawls: int


class Engine:
    """The services that hook runs need, owned by one worker."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        process: Process,
        settings: Resolved,
        workers: WorkerCount,
        ports_in: socket.socket,
    ) -> None:
        self.loop = loop
        self.process_id: UUID = process.pk
        self.machine_id: UUID = process.machine_id
        self.settings = settings
        self.journal = Journal(loop)
        self.exits = processes.ExitWatcher(loop)
        self.outputs = Outputs(loop)
        self.starter = HookStarter(process, self.journal, self.exits)
        self.proxies = CrawlProxies(loop, ports_in)
        self.warm_hooks = WarmHooks(self)
        self.interfaces = Interfaces(self.journal, self.proxies, self.machine_id)
        self.programs = Programs()
        self.disk = DiskSpaceGuard(DATA_FOLDER.root, settings.get_int("DISK_FREE_MIN"), self._room_changed)
        cores = os.cpu_count() or 1
        self._at_once = ConcurrencyLimits(
            pages=workers.most * settings.get_int("SNAPSHOTS_IN_FLIGHT"),
            hooks=settings.find_int("HOOK_CONCURRENCY") or 2 * cores,
            downloads=DOWNLOADS_PER_CORE * cores,
            tabs=settings.find_int("TABS") or cores,
            crawls=settings.get_int("CRAWLS_IN_FLIGHT"),
        )
        self.slots, self.finite_slots = HookSlots(self._at_once.hooks), HookSlots(self._at_once.downloads)
        self.tabs = Tabs(DATA_FOLDER.tabs, self._at_once.tabs, self._at_once.tabs, loop)
        self.pages_in_flight, self.crawls_in_flight = self._at_once.pages, self._at_once.crawls
        """Pages that this worker may hold, but late ones, and crawls whose browser it may have up."""
        self.set_worker_share(workers.at_work)
        self.long_held = DebouncedCall(loop, LATE_AFTER)
        """Slots of hooks, which become late when they are held for long."""
        self.attended = DebouncedCall(loop, ATTENDED_AFTER)
        """Foreground hooks, which are attended to if they have not ended by then."""
        self.stop_grace = settings.get_float("STOP_GRACE")
        self.seal_grace = settings.get_float("SEAL_GRACE")
        self.unstartable: dict[UUID, set[str]] = {}
        """By crawl: plugins whose hook of the crawl, such as its browser, died too often before it was ready."""
        self.has_other_machines = False
        """Whether other machines share the database, and take over what this one does not renew."""
        self.stopping = False
        """Whether this worker was told to stop, and gives back what it holds."""
        self.on_capacity: Callable[[], None] = lambda: None
        """Called when this worker may take more than before, or has to look when it may."""
        self.on_reaped: Callable[[ProcessIdentity, ExitStatus], None] = lambda _identity, _status: None
        self._files = ThreadPoolExecutor(max_workers=1, thread_name_prefix="files")
        self._transfers = ThreadPoolExecutor(max_workers=TRANSFERS, thread_name_prefix="transfers")
        self._tasks: set[asyncio.Task[None]] = set()
        loop.set_exception_handler(self.exit_on_error)

    def set_worker_share(self, workers: int) -> None:
        """Take this worker's part of what the machine does at once; what it has beyond that ends by itself."""
        at_once = self._at_once
        self.pages_in_flight = share(at_once.pages, workers)
        self.slots.limit = share(at_once.hooks, workers)
        self.finite_slots.limit = share(at_once.downloads, workers)
        self.tabs.share = share(at_once.tabs, workers)
        self.crawls_in_flight = share(at_once.crawls, workers)

    def _room_changed(self, sentence: str) -> None:
        log.warning(sentence)
        self.on_capacity()

    def want_program(self, request: BinaryRequest) -> None:
        """Have a program looked for that no crawl's start has asked for; the hook waits as for any other."""
        if request.name not in self.programs.asked_for:
            self.programs.asked_for.add(request.name)
            self.journal.effect(partial(Binary.want, request), wake=True)

    async def beside(self, work: Callable[..., T], *arguments: object) -> T:
        """Look through many files, on a thread of its own: only who has as many waits for that."""
        return await self.loop.run_in_executor(self._files, work, *arguments)

    async def transfer(self, work: Callable[..., T], *arguments: object) -> T:
        """Exchange files with the object store, on one of a few threads: a store may take its time."""
        return await self.loop.run_in_executor(self._transfers, work, *arguments)

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
            self.exit_on_error(self.loop, {"message": "A task broke", "exception": error})

    def exit_on_error(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Crash only: what went wrong here cannot be put right here. The next worker takes everything over."""
        log.critical("%s action=worker_broke", context.get("message"), exc_info=context.get("exception"))
        logging.shutdown()
        os._exit(1)

    def reap_orphans(self) -> None:
        """Reap the orphans that came to this worker and have ended; nobody else waits for them."""
        for identity, status in processes.reap_orphans(None, own=self.starter.own_pids).items():
            self.on_reaped(identity, status)

    def orphans(self) -> set[ProcessIdentity]:
        """Live orphans that came to this worker, which is a subreaper."""
        adopted_children = processes.orphans(own=self.starter.own_pids)
        return {identity for identity in adopted_children if not identity.is_zombie()}

    async def close(self) -> None:
        await self.warm_hooks.end()
        self.outputs.unwatch_all()
        self._files.shutdown()
        self._transfers.shutdown()
        self.starter.end_servers()
        self.exits.close()
        self.tabs.close()
        self.proxies.close()
        await self.journal.close()
        self.starter.close()
        self.outputs.close()


def share(whole: int, workers: int) -> int:
    """What one of so many workers may use of the whole, at least one."""
    return max(1, whole // max(1, workers))
