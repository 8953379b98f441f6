"""A Snapshot's rows at both ends of its work: read and planned when a worker claims it, sealed or released after."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.transitions import TransitionRefusedError
from archivebox.base_models.wakeups import notify_workers
from archivebox.config.page_storage import has_store
from archivebox.contract.hooknames import LAST_STEP
from archivebox.contract.reasons import Reason
from archivebox.contract.records import Record
from archivebox.core.archiveresult import FIRST_BACK_OFF, ArchiveResult, earliest_retry
from archivebox.core.intake.add_urls import add_found_urls
from archivebox.core.page_storage.folder import absent_page, expect_changes
from archivebox.core.page_storage.stored_object import StoredObject
from archivebox.core.page_storage.uploading import PageUpload, adopt
from archivebox.core.snapshot import Snapshot
from archivebox.core.statemachines import ArchiveResultMachine
from archivebox.core.versions.unchanged_text import retire_unchanged
from archivebox.core.versions.url_versions import replace_older
from archivebox.hooks import Call, discover_hooks, process_hook_records, snapshot_folders
from archivebox.lib.jsonl import JSON
from archivebox.machine.host import Machine
from archivebox.machine.machine_id import is_fleet
from archivebox.machine.process import Process
from archivebox.storage.layout import HOOK_RUNS, hook_file
from archivebox.workers.execute.hook_plan import LatestRun, is_unjudged
from archivebox.workers.execute.page.packed_runs import runs_in
from archivebox.workers.execute.plan_events import Planned
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.quarantine import quarantine

log = logging.getLogger(__name__)


class Known(NamedTuple):
    """What the row of a result says of it."""

    pk: UUID
    plugin: str
    hook_name: str
    status: str
    attempts: int
    retry_at: datetime | None
    process_id: UUID | None
    reason: str
    end_ts: datetime | None


class Loaded:
    """What a worker reads when it takes a Snapshot: its row, plan, settings, and hooks still running."""

    def __init__(self, snapshot: Snapshot, *, is_retry: bool, missing: StoredObject | None = None) -> None:
        self.snapshot = snapshot
        self.missing = missing
        """What has to be fetched from the object store first."""
        self.is_retry = is_retry
        self.call = call_of(snapshot)
        self.running: list[tuple[Process, Planned]] = []
        self.leftovers: list[Process] = []
        self.ended_before: set[str] = set()
        """Marks of hooks that ended under a worker that died: what they left behind was not ended."""
        self.was_elsewhere = False
        """Whether hooks that another machine started may run on, and write into the folder if machines share it."""
        self.recorded: dict[Planned, str] = {}
        """The status that the row of each result has."""
        self.planned = self._plan()

    def _plan(self) -> list[Planned]:
        rows = self.snapshot.archiveresult_set.values_list(*Known._fields)  # noqa: SLF001 - so is a NamedTuple read
        results = {(row[1], row[2]): Known(*row) for row in rows}
        hooks: Sequence[Process] = ()
        runs = runs_in(self.snapshot.path / HOOK_RUNS)
        if runs or self.snapshot.fence > 1:  # somebody held it before
            hooks = list(self.snapshot.process_set.of_type(Process.TypeChoices.HOOK).order_by("id"))
        unrecorded = runs - {str(row.pk) for row in hooks}  # started, and the row was not committed any more
        here = Machine.current().pk if hooks else None
        running_elsewhere = any(row.status == Process.StatusChoices.RUNNING and row.machine_id != here for row in hooks)
        self.was_elsewhere = is_fleet() and (running_elsewhere or bool(unrecorded))
        latest = {row.archiveresult_id: row for row in hooks}
        planned = []
        for hook in discover_hooks("Snapshot"):
            result = results.pop((hook.plugin, hook.file_name), None)
            if result is None:
                continue
            item = Planned(hook, result.status, result.pk, result.attempts, reason=result.reason)
            self.recorded[item] = result.status
            row = latest.get(result.pk)
            item.started_at, item.ended_at = (row.started_at, row.ended_at) if row is not None else (None, None)
            if self._is_lost(result, row, here):
                item.status = "queued"
            elif is_unjudged(hook, result.status, result.end_ts, result.process_id, _latest_run(row)):
                self._resume(item, row)
            elif self._is_due(result):
                item.status = "queued"
            planned.append(item)
        taken_up = {row.pk for row, _ in self.running}
        running = [row for row in hooks if row.status == Process.StatusChoices.RUNNING]
        self.leftovers = [row for row in running if row.pk not in taken_up]
        self.ended_before = {str(row.pk) for row in hooks} if self.snapshot.attempts else set()
        self._fail_orphaned(results.values())
        return planned

    def _is_lost(self, result: Known, row: Process | None, here: UUID | None) -> bool:
        """Whether its files are on the disk of another machine alone: machines that have a store share no folders.

        What another has sealed is in the store, and what it has made since is not.
        """
        if row is None or row.machine_id == here or not has_store():
            return False
        if result.status not in {"succeeded", "noresults", "failed"} or row.status == Process.StatusChoices.RUNNING:
            return False  # it is judged, runs again, or never ran
        sealed_at = self.snapshot.sealed_at
        return sealed_at is None or row.ended_at is None or row.ended_at > sealed_at

    def _is_due(self, result: Known) -> bool:
        """Whether it is tried again now: a page that is opened again is so for all that have waited half their time."""
        if result.retry_at is None:
            return False
        due = earliest_retry(result.retry_at, result.attempts) if self.is_retry else result.retry_at
        return due <= timezone.now()

    def _fail_orphaned(self, results: Iterable[Known]) -> None:
        """Results whose hooks are gone keep no page from its end."""
        for result in results:
            if result.retry_at is None:
                continue
            row = ArchiveResult.objects.filter(pk=result.pk)
            with write_transaction():
                reason = Reason.MISSING_PLUGIN.of(result.plugin)
                row.transition("fail", reason=reason)
                row.update(retry_at=None)

    def _resume(self, item: Planned, row: Process | None) -> None:
        """Have a run judged; one that has ended without a row or a log runs again: nothing tells what it came to."""
        if row is not None and (row.is_running or self._has_log(row)):
            self.running.append((row, item))
        elif item.status not in ArchiveResultMachine.FINAL:
            item.status = "queued"

    def _has_log(self, row: Process) -> bool:
        """A run has its log, empty or not, from its start until a seal packs it.

        Rows of before that seal come back with an older copy of the database.
        """
        return Path(hook_file(self.snapshot.path, row.hook_name, row.pk, "stdout.log")).exists()


def _latest_run(row: Process | None) -> LatestRun | None:
    return None if row is None else LatestRun(row.pk, row.status == Process.StatusChoices.RUNNING, row.ended_at)


def load(snapshot_id: UUID, owner: UUID) -> Loaded | None:
    """Load a leased Snapshot: enter `started` if it is not, and read what is to be done. None: no longer ours."""
    snapshot = Snapshot.objects.select_related("crawl").filter(pk=snapshot_id, owner=owner).first()
    if snapshot is None:
        return None
    if snapshot.attempts and quarantine(Lease(Snapshot, snapshot_id, owner, snapshot.fence)):
        return None
    is_retry = snapshot.status == Snapshot.StatusChoices.SEALED
    missing = absent_page(snapshot)
    if missing is None:
        expect_changes(snapshot)
    with write_transaction():
        if is_retry:
            snapshot.transition("reopen")
        if snapshot.status == Snapshot.StatusChoices.QUEUED:
            snapshot.transition("start")
        if snapshot.finishing:  # a worker died with it: what it has to do again may need the browser
            Snapshot.objects.filter(pk=snapshot_id, owner=owner).update(finishing=False)
    return Loaded(snapshot, is_retry=is_retry, missing=missing)


def call_of(snapshot: Snapshot) -> Call:
    """What all hooks of a Snapshot have in common."""
    crawl_dir = str(snapshot.crawl.local_path)
    ids = {"snapshot_id": str(snapshot.pk), "crawl_id": str(snapshot.crawl_id), "url": snapshot.url}
    return Call(
        object_dir=snapshot.path,
        arguments={
            "url": snapshot.url,
            "snapshot-id": str(snapshot.pk),
            "crawl-id": str(snapshot.crawl_id),
            "depth": str(snapshot.depth),
        },
        context=ids,
        folders=snapshot_folders(snapshot.path) | {"CRAWL_DIR": crawl_dir, "CRAWL_OUTPUT_DIR": crawl_dir},
        settings=snapshot.settings(),
        binaries={},
    )


def ingest_records(snapshot_id: UUID, process_id: UUID, records: Sequence[Record]) -> None:
    """Take the records of one read: found URLs go to the intake, other records to the models registered for them."""
    snapshot = Snapshot.objects.select_related("crawl", "crawl__created_by").get(pk=snapshot_id)
    found: list[dict[str, JSON]] = []
    others: list[Record] = []
    for record in records:
        if record.type == "Snapshot" and not record.fields.get("id"):
            found.append(record.fields)
        else:
            others.append(record)
    if found:
        add_found_urls(snapshot, found)
    overrides = {
        "snapshot": snapshot,
        "crawl": snapshot.crawl,
        "process": Process(pk=process_id),
        "created_by_id": snapshot.created_by_id,
    }
    process_hook_records(others, overrides)


def seal(
    snapshot: Snapshot, reason: str = "", former: Snapshot | None = None, stored: PageUpload | None = None
) -> bool:
    """The transaction that ends a Snapshot: its status, its next retry, and a tick of its Crawl. False: not ours.

    ``reason``: what keeps its files from being whole. ``former``: the version that says the same, which stays instead.
    ``stored``: the object that has its files.
    """
    with rolled_back_if_lost(snapshot), write_transaction():
        Snapshot.objects.filter(pk=snapshot.pk).lock()  # from who asks for a retry at this moment
        retry_at = _next_retry(snapshot)
        if reason and not snapshot.reason:
            retry_at = retry_at or timezone.now() + FIRST_BACK_OFF  # to be made whole, once
        fields = {
            "owner": None,
            "retry_at": retry_at,
            "sealed_at": timezone.now(),
            "finishing": False,
            "reason": reason,
            "size": _size_of_files(snapshot),
        }
        if stored is not None:
            adopt(stored)
        snapshot.transition("seal", **fields, current_step=LAST_STEP, attempts=0)
        if snapshot.process_set.running().of_type(Process.TypeChoices.BINARY).exists():
            Process.close_reported_programs(snapshot_id=snapshot.pk)
        if former is not None:
            retire_unchanged(snapshot, former)
        elif snapshot.crawl.replaces:
            replace_older(Snapshot.objects.get(pk=snapshot.pk))  # hooks have told of it since a worker read it
        if connection.vendor != "sqlite" or not snapshot.crawl.has_open_snapshots():
            snapshot.crawl.wake()  # only the last of them can end it; where writers do not take turns, any may be
        notify_workers()
        return True
    return False


def end_lease(snapshot: Snapshot, event: str) -> None:
    """Give back, pause or cancel a Snapshot whose trees have ended."""
    with rolled_back_if_lost(snapshot), write_transaction():
        snapshot.transition(event)
        snapshot.archiveresult_set.started().transition("requeue", retry_at=timezone.now())
        Process.close_reported_programs(snapshot_id=snapshot.pk)
        snapshot.crawl.wake()
        notify_workers()


@contextmanager
def rolled_back_if_lost(snapshot: Snapshot) -> Iterator[None]:
    """What is written in here is undone when the lease is lost: the guard of the transition says so.

    Whatever undoes it, the object is as it was before: a full disk shows at the commit only; then it is tried again.
    """
    before = dict(vars(snapshot))
    try:
        yield
    except TransitionRefusedError as refusal:
        log.warning("Not ours any more: %s action=lease_lost snapshot=%s", refusal, snapshot.pk)
    except Exception:
        vars(snapshot).update(before)
        raise


def _size_of_files(snapshot: Snapshot) -> int:
    """Hooks of one plugin list one folder, each as it was at its end."""
    rows = snapshot.archiveresult_set.filter(output_size__gt=0).order_by("output_size")
    return sum(dict(rows.values_list("plugin", "output_size")).values())


def _next_retry(snapshot: Snapshot) -> datetime | None:
    """The first of those that wait for a retry, or were asked for again meanwhile; whatever is unfinished as well."""
    waiting = snapshot.archiveresult_set.filter(retry_at__isnull=False).order_by("retry_at")
    return waiting.values_list("retry_at", flat=True).first()
