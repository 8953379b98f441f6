"""A crawl on this machine: its browser and other `on_Crawl` hooks, held for as long as Snapshots need them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.config.resolve import Resolved
from archivebox.contract.binaries import BinaryRequest, merge, parse_request
from archivebox.contract.hook import Hook
from archivebox.contract.outcomes import Outcome, Status
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason, Record
from archivebox.crawls.crawl import Crawl, CrawlRun
from archivebox.hooks import (
    Call,
    discover_hooks,
    needed_programs,
    plugins,
    process_hook_records,
    resolve_settings,
)
from archivebox.machine.binary import Binary
from archivebox.machine.process import Process, ProcessQuerySet
from archivebox.storage.layout import HOOK_RUNS
from archivebox.workers.execute.crawl_plan import CrawlRunPlan, ran_with
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.hook_runs import PlannedItem
from archivebox.workers.execute.hooks.capped_log import cut_all
from archivebox.workers.execute.hooks.process import HookProcess
from archivebox.workers.execute.plan_events import (
    Action,
    Done,
    Ended,
    Event,
    Happened,
    Planned,
    ProgramAsked,
    SayReady,
    Settle,
    Settled,
    Sign,
    Start,
)
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.quarantine import quarantine

MOST_URLS = 200
"""URLs of a crawl that are looked at for programs which certain addresses need; later ones ask by themselves."""


class CrawlRunExecutor(PlannedItem):
    """Holds a CrawlRun: its hooks in ten steps, ready for Snapshots, ended when no Snapshot needs it."""

    is_of_machine = True
    plan: CrawlRunPlan

    def __init__(self, engine: Engine, lease: Lease, loaded: "LoadedCrawlRun") -> None:
        self.crawl_id = loaded.crawl_id
        self._deaths = loaded.attempts
        self.holds_something = loaded.holds_something
        self.began = engine.loop.time()
        warm = engine.warm_hooks.claim(loaded.crawl_id, loaded.call)
        call = replace(loaded.call, proxy=engine.proxies.proxy_of(loaded.crawl_id))
        super().__init__(engine, lease, call, {"crawl_id": loaded.crawl_id})
        self.runs.warm = warm
        self.plan = CrawlRunPlan(
            map(Planned, discover_hooks("Crawl")),
            reason_to_skip=call.settings.reason_to_skip,
            needed=self.needed,
            is_ready=loaded.is_ready,
        )
        self.runs.end_leftovers([row for row in loaded.running if not self._resume(row)])
        self._skip_ended(loaded.ended)

    def _resume(self, row: Process) -> bool:
        """Go on with a browser that an earlier worker started; whether that can be."""
        for item in self.plan.planned:
            if (item.hook.plugin, item.hook.file_name) == (row.plugin, row.hook_name) and not item.has_run:
                started = self.runs.resume_run(item, row, is_judged=False)
                if started is not None:
                    self.note(started)
                    return True
        return False

    def _skip_ended(self, ended: Sequence[Process]) -> None:
        """Do not run hooks again that had ended, where what runs since then goes on: one may end what it finds.

        Hooks that have asked for programs run again: who asked for what is read from what they print.
        """
        adopted = [item for item in self.plan.planned if item.has_run]
        rows = {(row.plugin, row.hook_name): row for row in ended if not _asked_for_programs(row)}
        for item in self.plan.planned:
            row = rows.get((item.hook.plugin, item.hook.file_name))
            if row is None or item.runs_until_stopped:
                continue
            if any(ran_with(item, row.started_at, other) for other in adopted):
                self.note(Settled(Settle(item, Outcome(Status.SUCCEEDED)), "succeeded"))

    # --- what its plan asks for -------------------------------------------------------------------------------

    def perform(self, action: Action) -> Event:
        if not isinstance(action, SayReady):
            return super().perform(action)
        self._write_ready(is_ready=action.is_ready)
        return Done(action)

    def _write_ready(self, *, is_ready: bool) -> None:
        """Say whether Snapshots may use it; a worker's death counts against it only until it is ready for them."""
        failures = self.plan.failures
        columns = {"ready_at": timezone.now() if is_ready else None, "reason": failures[-1][:128] if failures else ""}
        self.engine.journal.update(CrawlRun, self.lease.pk, columns | ({"attempts": 0} if is_ready else {}), self.lease)
        self.engine.journal.effect(_nothing, self.lease, wake=True)

    def settle(self, action: Settle) -> Settled:
        return Settled(action, str(action.result.status), reason=action.reason)

    def note_end(self, item: Planned, run: HookProcess) -> None:
        now = self.engine.loop.time()
        self.note(Ended(item, run.ended_run(), run.row.ended_at, now))
        if self.plan.hopeless:
            self.engine.unstartable[self.crawl_id] = self.plan.hopeless
        if self.plan.not_before > now:
            self.engine.loop.call_at(self.plan.not_before, self.advance)

    def ingest_records(self, run: HookProcess, records: Sequence[Record]) -> bool:
        for record in records:
            if record.type == "Binary":
                request = replace(parse_request(record.fields), optional=True)
                self.note(ProgramAsked(self.runs.by_run[run], request))
        self.runs.ingest(run, partial(_ingest_records, self.lease.pk, run.row.process_id), records, self.lease)
        return True

    # --- what others ask and tell -----------------------------------------------------------------------------

    @property
    def is_ready(self) -> bool:
        return self.plan.is_ready

    @property
    def preempted(self) -> bool:
        return self.plan.is_preempted

    @property
    def is_suspect(self) -> bool:
        """Whether workers have died with it, so that it is begun alone until it is ready."""
        return bool(self._deaths) and not self.is_ready and not self.ending

    def preempt(self) -> None:
        """Another crawl waits: begin no more Snapshots; when those that run have ended, it is its turn."""
        self.note(Happened(Sign.PREEMPTED))
        self.advance()

    def on_snapshot_sealed(self) -> None:
        self.note(Happened(Sign.PAGE_SEALED))

    async def handle_request(self, event: str) -> None:
        """Its crawl is paused or cancelled: nothing needs it any more."""
        del event
        await self.end("seal")

    async def requeue(self) -> None:
        await self.end("requeue")

    async def end(self, event: str) -> None:
        """End its trees, run ``on_CrawlEnd``, and put the row down: sealed, or back in the queue."""
        if event == "seal" and self._deaths:
            await self._restore_deaths()
        await self.end_everything(EndReason.SEALED, self.engine.stop_grace)
        if event == "seal":
            for hook in discover_hooks("CrawlEnd"):
                if self.call.settings.reason_to_skip(hook) is None:
                    self.note(self.perform(Start(Planned(hook), at_end=True)))
            await self.runs.wait_until_idle()
            runs = self.call.object_dir / HOOK_RUNS
            await self.engine.loop.run_in_executor(None, cut_all, runs, self.output_max)
        await self.engine.journal.read(_end_lease, self.lease, event)
        self.finish()

    async def _restore_deaths(self) -> None:
        """Restore the count of its workers' deaths, which becoming ready has reset: its end may be what kills them."""
        self.engine.journal.update(CrawlRun, self.lease.pk, {"attempts": self._deaths}, self.lease)
        await self.engine.journal.flush()

    async def abandon(self) -> None:
        await self.end_everything(EndReason.CANCELLED, 0.0)
        self.finish()

    def finish(self) -> None:
        if self.runs.warm is not None:
            self.engine.warm_hooks.discard(self.runs.warm)
        self.engine.warm_hooks.note_use(self.call)
        self.engine.unstartable.pop(self.crawl_id, None)
        super().finish()


def _asked_for_programs(row: Process) -> bool:
    return '"Binary"' in row.stdout


# --- on the database thread -------------------------------------------------------------------------------------


class LoadedCrawlRun:
    """What a worker reads when it takes a CrawlRun."""

    def __init__(self, run: CrawlRun, settings: Resolved) -> None:
        crawl = run.crawl
        folder = str(run.path)
        first = crawl.urls.partition("\n")[0]
        self.crawl_id: UUID = crawl.pk
        self.call = Call(
            object_dir=run.path,
            arguments={"crawl-id": str(crawl.pk), "source-url": first, "url": first},
            context={"crawl_id": str(crawl.pk)},
            folders={"CRAWL_DIR": folder, "CRAWL_OUTPUT_DIR": folder},
            settings=settings,
            binaries={},
        )
        self.attempts = run.attempts
        self.holds_something = _holds_something(settings)
        self.is_ready = run.ready_at is not None and not self.holds_something
        self.running = list(_hooks_of(crawl, run.machine_id).running().order_by("-id"))
        """The latest first: where there are two of one hook, the end of the other was not committed."""
        self.ended = _ended_hooks(crawl, run.machine_id) if self.running else []
        """The last run of each hook that has ended by itself, where others may go on."""


def _hooks_of(crawl: Crawl, machine: UUID) -> ProcessQuerySet:
    """Of the crawl itself, not of its pages and programs."""
    hooks = crawl.process_set.of_type(Process.TypeChoices.HOOK)
    return hooks.filter(machine_id=machine, snapshot_id=None, binary_id=None)


def _ended_hooks(crawl: Crawl, machine: UUID) -> list[Process]:
    exited = _hooks_of(crawl, machine).filter(status=Process.StatusChoices.EXITED)
    ended = exited.filter(end_reason=EndReason.EXITED).order_by("id")
    return list({(row.plugin, row.hook_name): row for row in ended}.values())


def load(run_id: UUID, owner: UUID) -> LoadedCrawlRun | None:
    """Load a leased CrawlRun: queue the programs that its plugins need, and read what is to be done.

    SettingError where a setting of its crawl is not allowed.
    """
    run = CrawlRun.objects.select_related("crawl").filter(pk=run_id, owner=owner).first()
    if run is None or (run.attempts and quarantine(Lease(CrawlRun, run_id, owner, run.fence))):
        return None
    settings = resolve_settings(run.crawl.layers())
    settings.check()
    with write_transaction():
        if run.status == CrawlRun.StatusChoices.SEALED:
            run.transition("requeue", owner=owner, retry_at=run.retry_at)
        if run.status == CrawlRun.StatusChoices.QUEUED:
            run.transition("start", ready_at=None if _holds_something(settings) else timezone.now())
        want_programs(settings, run.crawl.urls.splitlines())
        loaded = LoadedCrawlRun(run, settings)
        if loaded.is_ready and run.attempts:  # now: a page may kill this worker before its journal is written
            CrawlRun.objects.filter(pk=run_id, owner=owner).update(attempts=0)
    return loaded


def _holds_something(settings: Resolved) -> bool:
    """Whether `on_Crawl` hooks come before the Snapshots, such as the one that holds a browser."""
    return any(settings.is_enabled(hook.plugin) for hook in discover_hooks("Crawl"))


def want_programs(settings: Resolved, urls: Sequence[str]) -> None:
    """Queue what a crawl's plugins need and this machine lacks; what was there, or missing, is checked again.

    What only pages of certain addresses or certain content need is asked for by the first such page.
    """
    wanted, at_once = wanted_programs(settings), wanted_programs(settings, urls)
    known = {binary.name: binary for binary in Binary.objects.here().filter(name__in=wanted)}
    if wanted:
        notify_workers()
    for name, request in wanted.items():
        if name not in known and name not in at_once:
            continue
        binary = Binary.want(request)
        if binary.status == Binary.StatusChoices.SUCCEEDED and not binary.is_there:
            binary.transition("requeue")
        elif binary.status == Binary.StatusChoices.FAILED and binary.owner is None:
            binary.transition("requeue", reason=Reason.LOOKED_FOR_AGAIN)


def wanted_programs(settings: Resolved, urls: Sequence[str] | None = None) -> dict[str, BinaryRequest]:
    """By name, what the plugins need whose hooks run under these settings: for any page, or for these URLs."""
    wanted = [
        request
        for plugin in plugins().values()
        if settings.is_enabled(plugin) and (plugin.search or any(_may_run(hook, urls) for hook in plugin.hooks))
        for request in needed_programs(plugin, settings)
    ]
    return merge(wanted)[0]


def _may_run(hook: Hook, urls: Sequence[str] | None) -> bool:
    if urls is not None and hook.applies.contains:
        return False
    pattern = hook.applies.url
    return pattern is None or urls is None or any(pattern.search(url) for url in urls[:MOST_URLS])


def _ingest_records(run_id: UUID, process_id: UUID, records: Sequence[Record]) -> None:
    run = CrawlRun.objects.select_related("crawl").get(pk=run_id)
    overrides = {"crawl": run.crawl, "process": Process(pk=process_id), "created_by_id": run.created_by_id}
    process_hook_records([record for record in records if record.type in {"Machine", "Binary"}], overrides)


def _end_lease(lease: Lease, event: str) -> None:
    run = CrawlRun.objects.filter(pk=lease.pk, owner=lease.owner, fence=lease.fence).first()
    if run is None:
        return
    with write_transaction():
        run.transition(event, **({"attempts": 0} if event == "seal" else {}))
        Process.close_reported_programs(crawl_id=run.crawl_id, snapshot_id=None)
        notify_workers()


def _nothing() -> None:
    """Changes no row: the workers are woken by the batch that it is part of, once that is committed."""


# --- asked for every crawl --------------------------------------------------------------------------------------
