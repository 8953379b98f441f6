"""A crawl on this machine: its browser and other `on_Crawl` hooks, held for as long as Snapshots need them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.config.resolve import Resolved
from archivebox.contract.binaries import BinaryRequest, merge, parse_request
from archivebox.contract.hook import Hook
from archivebox.contract.outcomes import Outcome, Status, outcome
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
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.hooks.capped_log import cut_all
from archivebox.workers.execute.hooks.process import HookProcess
from archivebox.workers.execute.leased_item import LeasedItem
from archivebox.workers.execute.steps.executor import StepExecutor
from archivebox.workers.execute.steps.rules import HookRules
from archivebox.workers.execute.steps.schedule import Planned, Schedule
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.quarantine import quarantine

MOST_URLS = 200
"""URLs of a crawl that are looked at for programs which certain addresses need; later ones ask by themselves."""
MOST_RESTARTS = 3
"""How often a dead background hook is started again at once without a Snapshot sealed in between."""
LONGEST_PAUSE = 30.0
"""Seconds for which one waits at most that has died more often than that."""


class CrawlRunExecutor(LeasedItem):
    """Holds a CrawlRun: its hooks in ten steps, ready for Snapshots, ended when no Snapshot needs it."""

    is_of_machine = True

    def __init__(self, engine: Engine, lease: Lease, loaded: "LoadedCrawlRun") -> None:
        super().__init__(engine, lease)
        self.crawl_id = loaded.crawl_id
        self.is_ready = loaded.is_ready
        self._deaths = loaded.attempts
        self.holds_something = loaded.holds_something
        self.preempted = False
        self.began = engine.loop.time()
        self.rules = CrawlRules(self)
        warm = engine.warm_hooks.claim(loaded.crawl_id, loaded.call)
        call = replace(loaded.call, proxy=engine.proxies.proxy_of(loaded.crawl_id))
        schedule = Schedule(Planned(hook) for hook in discover_hooks("Crawl"))
        self.steps = StepExecutor(self, call, schedule, self.rules, self.rules)
        self.steps.runs.warm = warm
        self.steps.runs.end_leftovers([row for row in loaded.running if not self._resume(row)])
        self._skip_ended(loaded.ended)

    def _resume(self, row: Process) -> bool:
        """Go on with a browser that an earlier worker started; whether that can be."""
        return any(
            (item.hook.plugin, item.hook.file_name) == (row.plugin, row.hook_name)
            and item.run is None
            and self.steps.runs.adopt(item, row)
            for item in self.steps.schedule.planned
        )

    def _skip_ended(self, ended: Sequence[Process]) -> None:
        """Do not run hooks again that had ended, where what runs since then goes on: one may end what it finds.

        Hooks that have asked for programs run again: who asked for what is read from what they print.
        """
        adopted = [item for item in self.steps.schedule.planned if item.run is not None]
        rows = {(row.plugin, row.hook_name): row for row in ended if not _asked_for_programs(row)}
        for item in self.steps.schedule.planned:
            row = rows.get((item.hook.plugin, item.hook.file_name))
            if row is None or item.runs_until_stopped:
                continue
            if any(_ran_with(item, row, other) for other in adopted):
                item.status = "succeeded"

    def advance(self) -> None:
        self.steps.advance()

    def hooks(self) -> list[HookProcess]:
        return self.steps.runs.latest

    @property
    def is_suspect(self) -> bool:
        """Whether workers have died with it, so that it is begun alone until it is ready."""
        return bool(self._deaths) and not self.is_ready and not self.ending

    def write_ready(self, *, ready: bool) -> None:
        """Say whether Snapshots may use it; a worker's death counts against it only until it is ready for them."""
        self.is_ready = ready
        failures = self.rules.failures
        columns = {"ready_at": timezone.now() if ready else None, "reason": failures[-1][:128] if failures else ""}
        self.engine.journal.update(CrawlRun, self.lease.pk, columns | ({"attempts": 0} if ready else {}), self.lease)
        self.engine.journal.effect(_nothing, self.lease, wake=True)

    def preempt(self) -> None:
        """Another crawl waits: begin no more Snapshots; when those that run have ended, it is its turn."""
        self.preempted = True
        self.write_ready(ready=False)

    def on_snapshot_sealed(self) -> None:
        self.rules.restarts = self.rules.failed_starts = 0

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
        await self.steps.end_everything(EndReason.SEALED, self.engine.stop_grace)
        if event == "seal":
            for hook in discover_hooks("CrawlEnd"):
                if self.steps.call.settings.reason_to_skip(hook) is None:
                    self.steps.runs.launch(Planned(hook))
            await self.steps.runs.wait_until_idle()
            runs = self.steps.call.object_dir / HOOK_RUNS
            await self.engine.loop.run_in_executor(None, cut_all, runs, self.steps.output_max)
        await self.engine.journal.read(_end_lease, self.lease, event)
        self.finish()

    async def _restore_deaths(self) -> None:
        """Restore the count of its workers' deaths, which becoming ready has reset: its end may be what kills them."""
        self.engine.journal.update(CrawlRun, self.lease.pk, {"attempts": self._deaths}, self.lease)
        await self.engine.journal.flush()

    async def abandon(self) -> None:
        await self.steps.end_everything(EndReason.CANCELLED, 0.0)
        self.finish()

    def finish(self) -> None:
        if self.steps.runs.warm is not None:
            self.engine.warm_hooks.discard(self.steps.runs.warm)
        self.engine.warm_hooks.note_use(self.steps.call)
        self.engine.unstartable.pop(self.crawl_id, None)
        super().finish()


class CrawlRules(HookRules):
    """The rules of one crawl's hooks, and what they come to. They have no results: what counts is which failed."""

    def __init__(self, executor: CrawlRunExecutor) -> None:
        self._executor = executor
        self.restarts = 0
        """Starts after a death, since a Snapshot was sealed."""
        self.failed_starts = 0
        """Deaths in a row before it was ready, since then as well."""
        self._not_before = 0.0
        self.failures: list[str] = []
        self._requests: list[tuple[str, BinaryRequest]] = []
        """Programs that hooks of the crawl have asked for, each with the file name of the hook."""

    def work_of(self, item: Planned) -> dict[str, UUID]:
        del item
        return {"crawl_id": self._executor.crawl_id}

    def hook_started(self, item: Planned, run: HookProcess) -> None:
        """There is no result to write it to."""

    def settle(self, item: Planned, result: Outcome, reason: str = "") -> None:
        item.status = str(result.status)
        if item.status == "failed":
            self.failures.append(reason or f"{result.reason}:{item.hook.file_name}")

    def settle_run(self, item: Planned, run: HookProcess) -> None:
        """See whether one failed that nobody had told to stop.

        One whose end nobody saw runs again, as with pages; of what runs in the background that is a failure as others.
        """
        end_reason, result = run.row.final_reason, outcome(run.ended_run())
        if result.reason is Reason.LOST and not item.hook.background:
            item.status, item.run = "queued", None
            return
        told_to_stop = end_reason in {EndReason.SEALED, EndReason.CANCELLED}
        failed = not told_to_stop and result.status in {Status.FAILED, Status.QUEUED}
        item.status = "failed" if failed else "succeeded"
        if failed:
            self.failures.append(run.output.refused or Reason.HOOK_FAILED.of(item.hook.file_name))
        if not self._executor.ending and failed and item.hook.background and end_reason is not EndReason.TIMEOUT:
            self._start_again(item, run)

    def _start_again(self, item: Planned, run: HookProcess) -> None:
        """A dead background hook alone is started again; what it was ready for is not, until it is ready anew.

        One that had been ready is started however often it dies, but later and later: pages are tried only so often.
        One that never gets ready is not started any more, and the tabs that rely on it fail.
        """
        engine, crawl_id = self._executor.engine, self._executor.crawl_id
        self._executor.write_ready(ready=False)
        self.failed_starts = 0 if run.is_ready else self.failed_starts + 1
        if self.failed_starts > MOST_RESTARTS:
            engine.unstartable.setdefault(crawl_id, set()).add(item.hook.plugin)
            return
        self.restarts += 1
        item.status, item.run, item.late = "queued", None, False
        if self.restarts > MOST_RESTARTS:
            pause = min(2.0 ** (self.restarts - MOST_RESTARTS), LONGEST_PAUSE)
            self._not_before = engine.loop.time() + pause
            engine.loop.call_later(pause, self._executor.advance)

    def must_wait(self, item: Planned) -> bool:
        """Whether a hook that has died again and again waits before its next start."""
        return item.hook.background and self._executor.engine.loop.time() < self._not_before

    def programs_before(self, item: Planned) -> Iterable[BinaryRequest]:
        """Hooks of both earlier dialects ask for the programs of those after them, which rely on that."""
        return [request for file_name, request in self._requests if file_name < item.hook.file_name]

    def ingest_records(self, run: HookProcess, records: Sequence[Record]) -> bool:
        for record in records:
            if record.type == "Binary":
                request = replace(parse_request(record.fields), optional=True)
                self._requests.append((run.hook.file_name, request))
        lease = self._executor.lease
        self._executor.steps.runs.ingest(run, partial(_ingest_records, lease.pk, run.row.process_id), records, lease)
        return True

    def on_steps_ended(self) -> None:
        """Ready once its foreground hooks are final and its ready-declaring ones are ready, ended or late."""
        executor = self._executor
        background = [item for item in executor.steps.schedule.planned if item.hook.background and item.hook.ready]
        is_open = not (executor.is_ready or executor.ending or executor.preempted)
        if is_open and all(item.is_ready for item in background):
            executor.write_ready(ready=True)


def _ran_with(item: Planned, row: Process, running: Planned) -> bool:
    """Whether an ended hook ran in the same run of the crawl as one that still runs: before that began, or after."""
    began = running.run.row.started_at if running.run is not None else None
    is_later = began is not None and row.started_at is not None and row.started_at >= began
    return item.hook.sort_key < running.hook.sort_key or is_later


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
