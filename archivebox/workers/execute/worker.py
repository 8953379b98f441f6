"""A worker: leases Crawls, Snapshots and Binaries, runs their hooks, and gives everything back when told to stop."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Coroutine
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection, transaction
from django.utils import timezone

from archivebox.base_models.transactions import end_hanging_transactions
from archivebox.base_models.transient import retry_transient
from archivebox.base_models.work import RENEW_EVERY
from archivebox.config.page_storage import has_store
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.records import EndReason
from archivebox.core.crawl_control.process_retention import cleanup_today
from archivebox.core.intake.batches import remove_abandoned
from archivebox.hooks import base_layers, resolve_settings
from archivebox.jobs.comparing import measure_when_idle
from archivebox.jobs.storage_upkeep import StorageUpkeep, StoreUpkeep, purge_today, remove_unneeded_uploads
from archivebox.lib import processes
from archivebox.lib.file_watch import ATTRIB, FileWatcher
from archivebox.lib.system_calls import hold, seconds_since_boot
from archivebox.machine.machine_id import is_fleet
from archivebox.machine.process import Process
from archivebox.workers.execute import poll
from archivebox.workers.execute.capacity.load import LOOK_EVERY, Load
from archivebox.workers.execute.engine import Engine, WorkerCount
from archivebox.workers.execute.hooks.orphans import Orphans
from archivebox.workers.execute.leased_items import LeasedItems
from archivebox.workers.queue import claim, disk_space, due, fleet, orphans, reclaim
from archivebox.workers.queue.idle import retry_when_idle
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.readiness_check import ReadinessCheck
from archivebox.workers.signals import OrchestratorSignal, WorkerSignal, say_alive

log = logging.getLogger(__name__)

POLL_EVERY = 30.0
"""Seconds after which a worker polls unasked, against a missed wake-up: who wakes may be killed before."""
CHECK_WAKEUPS = 0.1
"""Seconds between two checks of the wake-up file where the kernel does not report changes."""
GATHER_WAKEUPS, GATHER_WHILE_BUSY = 0.001, 0.02
"""Seconds between two polls: each seal of each worker wakes all, and a poll costs some milliseconds.

A worker that holds pages has one of them ahead, and is in no hurry for more; a crawl waits for one that holds none.
"""
GATHER_WHILE_FULL = 0.2
"""Seconds until a worker that has no place for a page polls all the same: there may be other work, or a request."""
WATCH_LEASES_EVERY = RENEW_EVERY / 10
"""Seconds between two looks whether the time of a lease is over that could not be renewed."""
POLL_AGAIN = 0.02
"""Seconds until a woken worker that found nothing polls once more."""
MOST_LATE = 32
"""Snapshots that do not count as in flight: they take long, are tried again, or only wait for downloads."""
MOST_RETRIES = 1
"""Snapshots that are tried again at a time, beside those that never ran."""


class Worker:
    """One worker process. ``run`` returns when it was told to stop and has put everything down."""

    def __init__(
        self,
        process: Process,
        *,
        crew: WorkerCount,
        ports_in: socket.socket,
        pulse: int | None = None,
        serves: bool = False,
    ) -> None:
        self.process = process
        self.settings = resolve_settings(base_layers())
        self.loop = asyncio.get_running_loop()
        self.engine = Engine(self.loop, process, self.settings, crew, ports_in)
        self.engine.proxies.on_proxy_death = self._proxy_died
        self.engine.journal.on_lost = self._lease_lost
        self.engine.journal.on_broken = self._journal_broke
        self.held = LeasedItems(self.engine)
        self.engine.warm_hooks.is_served, self.engine.warm_hooks.is_idle = serves, lambda: not self.held.all
        self.orphans = Orphans(self.engine, lambda: not self.held.pages)
        self.retention_days = self.settings.get_int("PROCESS_RETENTION_DAYS")
        self.removed_retention_days = self.settings.get_int("REMOVED_RETENTION_DAYS")
        self.crawl_turn = self.settings.get_float("CRAWL_TURN")
        self.measures_replay = self.settings.get_flag("MEASURE_REPLAY")
        self.cursor = due.Cursor()
        self.readiness_check = ReadinessCheck()
        self._workers = crew.at_work
        self._load: Load | None = None
        """While there is more than one page."""
        self._pulse = pulse
        self._woken = asyncio.Event()
        self._turn: asyncio.TimerHandle | None = None
        """When a crawl's turn is over, for which another waits."""
        self._freed = asyncio.Event()
        """Set together with ``_woken`` when this worker may have more places than before."""
        self.engine.on_capacity = self._wake
        self._stopping = asyncio.Event()
        self._sibling_died = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._store_upkeep: asyncio.Task[None] | None = None
        self._wakeups = self._watch_wakeup_file()

    # --- the loop ---------------------------------------------------------------------------------------------

    async def run(self) -> None:
        self._listen_for_the_end()
        self.engine.starter.warm_up()  # warms up while we look for work
        beating = [self.engine.in_background(beat) for beat in self._beats()]
        try:
            while not self._stopping.is_set():
                claimed = await self._claim_due()
                if not (claimed.more or (claimed and self._capacity().snapshots)):
                    await self._gather()
                    await self._sleep(claimed.next_at)
        finally:
            for beat in beating:
                beat.cancel()
            await self._requeue_everything()

    def _beats(self) -> list[Coroutine[Any, Any, None]]:
        """What goes on beside all work, for as long as this worker lives."""
        return [
            self._beat(), self._keep_up(), self._send_heartbeats(), *([self._watch_leases()] if is_fleet() else [])
        ]  # fmt: skip

    async def _claim_due(self) -> claim.Claimed:
        """Take what is due, begin it, do what was asked for."""
        self._woken.clear()
        polled = await self._poll()
        if not polled.claimed and not self.held.all:
            await self._wait(self._woken, POLL_AGAIN)
            if not self._stopping.is_set():
                polled = await self._poll()
        return polled.claimed

    async def _poll(self) -> poll.Polled:
        idle = self.held.idle_crawl_runs()
        who = claim.FetchRequest(
            self.process.pk,
            self.process.machine_id,
            self._capacity(),
            self.cursor,
            readiness=self.readiness_check,
            selections=self.held.selections(),
        )
        preempted = {crawl_id: run.preempted for crawl_id, run in idle.items()}
        held = [lease.pk for lease in self.held.all]
        polled: poll.Polled = await self.engine.journal.read(poll.poll, who, preempted, held)
        self.engine.programs.learn(polled.program_status, polled.program_paths, polled.program_versions)
        for lease, loaded in polled.loaded.items():
            self._begin_or_release(lease, loaded, polled.asked_at)
        self._answer_requests(polled)
        for crawl_id in polled.unneeded:
            if not idle[crawl_id].ending:
                self._spawn(idle[crawl_id].end("requeue" if idle[crawl_id].preempted else "seal"))
        if polled.claimed.crawls_wait and self.engine.disk.has_space():
            self._preempt_longest()
        self._advance_all()
        if len(self.held.pages) > 1:
            self._send(WorkerSignal.MORE_WORK)
            if self._load is None:
                self._load = Load()
                self.loop.call_later(LOOK_EVERY, self._check_load, self._load)
        return polled

    def _check_load(self, load: Load) -> None:
        if len(self.held.pages) < 2:
            self._load = None
            return
        if load.is_too_much(is_full=self._in_flight_left <= 0 < self._tabs_left):
            self._send(WorkerSignal.OVERLOADED)
        self.loop.call_later(LOOK_EVERY, self._check_load, load)

    def _advance_all(self) -> None:
        for held in self.held.all.values():
            held.on_polled()

    def _capacity(self) -> claim.Capacity:
        """How much more this worker takes: no more pages than it can give a tab, and one ahead."""
        if not self.engine.disk.has_space():
            return claim.Capacity(0, 0, 0, 0, beyond=False)
        pages = self.held.pages.values()
        ahead = sum(page.is_ahead for page in pages)
        alone = any(run.is_suspect for run in self.held.crawl_runs.values())
        crawls = 0 if alone else max(0, self.engine.crawls_in_flight - len(self.held.browsers()))
        return claim.Capacity(
            snapshots=max(0, min(self._in_flight_left, self._tabs_left + 1 - ahead)),
            retries=max(0, MOST_RETRIES - sum(page.is_retry for page in pages)),
            crawls=crawls,
            retried_crawls=max(0, crawls - 1) if self.engine.crawls_in_flight > 1 else crawls,
        )

    @property
    def _in_flight_left(self) -> int:
        pages = self.held.pages.values()
        counted = sum(page.counts_as_in_flight for page in pages)
        return self.engine.pages_in_flight - counted - max(0, len(pages) - counted - MOST_LATE)

    @property
    def _tabs_left(self) -> int:
        return max(0, self.engine.tabs.share - self.engine.tabs.held)

    def _preempt_longest(self) -> None:
        """A crawl waits: the one that has had its turn for longest lets it in, when its time is over."""
        held = self.held.browsers()
        if not held or any(run.preempted or run.ending for run in held):
            return
        longest = min(held, key=lambda run: run.began)
        left = longest.began + self.crawl_turn - self.loop.time()
        if left <= 0:
            longest.preempt()
        else:
            if self._turn is not None:
                self._turn.cancel()
            self._turn = self.loop.call_later(left, self._woken.set)

    def _wake(self) -> None:
        """Have it look at once, also where it waits because it was full."""
        self._freed.set()
        self._woken.set()

    async def _gather(self) -> None:
        """Until other wake-ups of about the same time have come."""
        until = self.loop.time() + GATHER_WHILE_FULL
        while not (self._capacity().snapshots or self._stopping.is_set()) and (left := until - self.loop.time()) > 0:
            self._freed.clear()
            await self._wait(self._freed, left)
        await asyncio.sleep(GATHER_WHILE_BUSY if self.held.pages else GATHER_WAKEUPS)

    async def _sleep(self, next_at: datetime | None) -> None:
        seconds = POLL_EVERY if self.engine.disk.has_space() else disk_space.POLL_EVERY
        if next_at is not None:
            seconds = min(seconds, max(0.0, (next_at - timezone.now()).total_seconds()))
        await self._wait(self._woken, seconds)

    async def _wait(self, event: asyncio.Event, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()

    # --- beginning and ending runs ----------------------------------------------------------------------------

    def _proxy_died(self, crawl_id: UUID) -> None:
        for page in list(self.held.pages.values()):
            if page.snapshot.crawl_id == crawl_id:
                page.proxy_died()

    def _begin_or_release(self, lease: Lease, loaded: Any, claimed_at: float) -> None:
        """Begin what was claimed; where a former run of it still ends here, release it after that, to be claimed again.

        That is a run whose lease was lost. That of a page which was due again as it was sealed is over by now.
        """
        former = next((held for one, held in self.held.all.items() if one.pk == lease.pk), None)
        if former is None:
            self._begin(lease, loaded, claimed_at)
        else:
            former.over.add_done_callback(lambda _: self._spawn(self._release(lease)))

    async def _release(self, lease: Lease) -> None:
        await self.engine.journal.read(claim.release, lease)
        self._wake()

    def _begin(self, lease: Lease, loaded: Any, claimed_at: float) -> None:
        item = self.held.begin(lease, loaded)
        item.renewed_at = claimed_at
        item.over.add_done_callback(partial(self._is_over, lease))

    def _is_over(self, lease: Lease, _: object) -> None:
        page = self.held.remove(lease)
        self.engine.reap_orphans()  # what it left has been ended, and came to this worker as its subreaper
        self.engine.proxies.keep(self.held.crawls())
        if not self.held.all:
            self.engine.starter.end_servers_of_environments()
            self.engine.warm_hooks.start_soon()
        if page is not None:
            self.orphans.record_new()
            if not self.held.pages:
                self._spawn(self.orphans.end())
        self._wake()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self.engine.in_background(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- requests and leases ----------------------------------------------------------------------------------

    def _answer_requests(self, polled: poll.Polled) -> None:
        """Pause, cancel and kill what others asked for since the last poll."""
        held_by_key = {lease.pk: held for lease, held in self.held.all.items()}
        for key, event in polled.asked.items():
            held = held_by_key.get(key)
            if held is not None and not held.ending:
                held.begin_ending()
                self._spawn(held.handle_request(event))
        for process_id in polled.killed:
            self._kill(process_id)

    def _kill(self, process_id: UUID) -> None:
        for held in self.held.all.values():
            for hook in held.hooks():
                if hook.row.process_id == process_id:
                    hook.stop_within(EndReason.CANCELLED, self.engine.stop_grace)

    async def _renew(self) -> None:
        leases = list(self.held.all)
        asked_at, lost = await self.engine.journal.read(_renew, leases)
        for lease in lost:
            self._lease_lost(lease)
        for lease in leases:
            if lease not in lost and lease in self.held.all:
                self.held.all[lease].renewed_at = asked_at

    async def _watch_leases(self) -> None:
        """Let go of what another machine may take over, though nothing tells so while the database is out of reach."""
        while True:
            for lease, item in self.held.all.items():
                if item.may_be_lost:
                    self._lease_lost(lease)
            await asyncio.sleep(WATCH_LEASES_EVERY)

    def _lease_lost(self, lease: Lease) -> None:
        held = self.held.all.get(lease)
        if held is not None and not held.ending:
            log.warning("The lease of %s %s is lost action=lease_lost", lease.model.__name__, lease.pk)
            held.begin_ending()
            self._spawn(held.abandon())

    async def _beat(self) -> None:
        """Every ten seconds: the leases, and who died or was stopped; at once when the orchestrator tells of a death.

        Nothing else is waited for in between: a lease that is not renewed in time is lost to another machine.
        """
        while True:
            self._sibling_died.clear()
            self.engine.reap_orphans()
            self.engine.exits.end_stuck_servers()
            self.engine.warm_hooks.review()
            if self.held.all:
                await self._renew()
            if await self.engine.journal.read(_reclaim_lost):
                self._woken.set()
            self.engine.has_other_machines = await self.engine.journal.read(fleet.has_other_machines)
            await self._wait(self._sibling_died, RENEW_EVERY)

    async def _keep_up(self) -> None:
        """A batch of what is too old to be kept, now and then: folders may take long to be looked through."""
        upkeep, store_upkeep = StorageUpkeep(), StoreUpkeep()
        while True:
            await asyncio.sleep(RENEW_EVERY)
            await self.engine.journal.read(cleanup_today, self.retention_days)
            await self.engine.journal.read(purge_today, self.removed_retention_days)
            await self.engine.journal.read(remove_abandoned)
            await self.engine.journal.read(remove_unneeded_uploads)
            await self.engine.journal.read(upkeep.begin_if_due)
            await self.engine.loop.run_in_executor(None, _clean_next_folder, upkeep)
            self._start_store_upkeep(store_upkeep)
            if self.measures_replay:
                await self.engine.journal.read(measure_when_idle)

    def _start_store_upkeep(self, upkeep: StoreUpkeep) -> None:
        """Beside everything else, one look at a time: a store may be slow."""
        if has_store() and (self._store_upkeep is None or self._store_upkeep.done()):
            work = partial(upkeep.run_if_due, lambda: not self.engine.stopping)
            self._store_upkeep = self.engine.in_background(self.engine.transfer(work))

    async def _send_heartbeats(self) -> None:
        """A sign of life to the orchestrator; it waits for no database: a stalled disk is no hung worker."""
        while self._pulse is not None:
            self._send(WorkerSignal.HEARTBEAT)
            await asyncio.sleep(RENEW_EVERY)

    def _send(self, signal_byte: WorkerSignal) -> None:
        with suppress(BlockingIOError, BrokenPipeError):
            if self._pulse is not None:
                os.write(self._pulse, signal_byte)

    # --- the outside ------------------------------------------------------------------------------------------

    def _watch_wakeup_file(self) -> FileWatcher:
        DATA_FOLDER.wakeup_file.touch()
        watcher = FileWatcher(CHECK_WAKEUPS)
        watcher.add(DATA_FOLDER.wakeup_file, ATTRIB)
        watcher.tell(self.loop, lambda _: self._woken.set())
        return watcher

    def _listen_for_the_end(self) -> None:
        for signum in (signal.SIGTERM, signal.SIGINT):
            self.loop.add_signal_handler(signum, self.stop)
        if self._pulse is not None:
            os.set_blocking(self._pulse, False)
            self._watch_orchestrator()

    def _watch_orchestrator(self) -> None:
        """Our end of its socket: it says when another worker has died or comes, and closes when it has died itself."""
        self.loop.add_reader(self._pulse or 0, self._orchestrator_spoke)

    def _orchestrator_spoke(self) -> None:
        try:
            data = os.read(self._pulse or 0, 64)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if data:
            self._handle_signals(data)
        else:
            self.loop.remove_reader(self._pulse or 0)
            self.stop()

    def _handle_signals(self, said: bytes) -> None:
        if OrchestratorSignal.SIBLING_DIED.value in said:
            self._sibling_died.set()
        if OrchestratorSignal.SIBLING_ADDED.value in said:
            self._workers += said.count(OrchestratorSignal.SIBLING_ADDED)
            self.engine.set_worker_share(self._workers)

    def _journal_broke(self, error: Exception) -> None:
        """Nothing can be put on record any more: end at once; whoever comes next takes everything back."""
        gone = isinstance(error, OperationalError | InterfaceError)
        what = "The database is gone" if gone else "The database refused what we asked of it"
        log.critical("%s: %s action=journal_broke", what, error)
        os._exit(1)

    def stop(self) -> None:
        self.engine.stopping = True
        self._stopping.set()
        self._wake()

    async def _requeue_everything(self) -> None:
        """Release every item: trees end first, rows go back to the queue, nothing is counted as an attempt."""
        self._wakeups.unwatch_all()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await asyncio.gather(*(held.requeue() for held in self.held.all.values()))
        await self.engine.close()
        self._wakeups.close()


def _clean_next_folder(upkeep: StorageUpkeep) -> None:
    """On a thread that is not the database's, and keeps no connection."""
    try:
        upkeep.clean_next_folder()
    finally:
        connection.close()


# --- on the database thread -------------------------------------------------------------------------------------


def _renew(leases: list[Lease]) -> tuple[float, set[Lease]]:
    """Renew leases; when that was asked for, by the clock of :func:`seconds_since_boot`, and which are lost."""
    return seconds_since_boot(), claim.renew(leases)


def _reclaim_lost() -> int:
    """What nobody works on is due again: of dead workers, and where a fleet shares the database of others.

    So is what waits for this machine to be idle.
    """
    count = reclaim.reclaim_dead_workers()
    orphans.end_stale_hooks(os.getppid())
    ours = Process.objects.here().running().exclude(process_type__in=_CLOSED_BY_THEIR_WORKER)
    with transaction.atomic():
        ours.close()  # a command or orchestrator that was killed: nobody of ours waited for it
        reclaim.close_orphaned_programs()
    count += reclaim.end_impossible_waits() + retry_when_idle()
    if connection.vendor == "postgresql":
        count += fleet.record_heartbeat()
    return count


_CLOSED_BY_THEIR_WORKER = (Process.TypeChoices.HOOK, Process.TypeChoices.BINARY)


# --- the process ------------------------------------------------------------------------------------------------


def main(
    process_id: UUID,
    orchestrator_id: UUID | None,
    *,
    crew: WorkerCount,
    ports_in: socket.socket,
    pulse: int | None = None,
    serves: bool = False,
) -> int:
    """Be a worker until told to stop; returns the exit status. The lock file says for how long it lives.

    ``ports_in``: where ports of crawls are handed to the egress process. ``serves``: whether a server wants it.
    """
    processes.become_subreaper()
    end_hanging_transactions()
    DATA_FOLDER.make_folder(DATA_FOLDER.workers)
    while_away = partial(say_alive, pulse) if pulse is not None else lambda: None
    lock = retry_transient(partial(hold, DATA_FOLDER.worker_lock(process_id)), before_again=while_away)
    columns = {
        "process_type": Process.TypeChoices.WORKER,
        "worker_type": "worker",
        "parent_id": orchestrator_id,
        "cmd": ["archivebox", "worker", "--process-id", str(process_id)],  # forked: the kernel shows its parent's
    }
    process = retry_transient(partial(Process.begin, process_id, **columns), before_again=while_away)
    connection.close()  # the journal's thread has one of its own
    error: BaseException | None = None
    try:
        asyncio.run(_work(process, crew, ports_in, pulse, serves=serves))
    except Exception as problem:
        error = problem
        log.exception("The worker broke action=worker_broke")
    code = process.finish_after(error)
    connection.close()
    if error is None:
        DATA_FOLDER.worker_lock(process_id).unlink(missing_ok=True)  # else it says what is to be claimed back
    os.close(lock)
    return code


async def _work(
    process: Process, crew: WorkerCount, ports_in: socket.socket, pulse: int | None, *, serves: bool
) -> None:
    await Worker(process, crew=crew, ports_in=ports_in, pulse=pulse, serves=serves).run()
