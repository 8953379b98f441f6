"""Owns when a machine looks after what it has stored: bodies that no page has, what killed readers have left, local
copies, the object store, files of removed pages and of imports, and uploaded files that no import needs.
"""

import logging
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from django.db import DatabaseError, connection, models
from django.utils import timezone

from archivebox.base_models.users import system_user
from archivebox.config.page_storage import has_store, storage_settings
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.page_storage.folder import evict
from archivebox.core.page_storage.maintenance import StoreGarbage, collect_unknown, collect_unused, collect_uploads
from archivebox.core.page_storage.uploading import store_marked
from archivebox.core.snapshot import Snapshot
from archivebox.imports.import_folder import remove_left_folders
from archivebox.imports.sources import is_new, remove_upload, uploaded_keys
from archivebox.jobs.begin import MOST_KEYS, JobRequest, begin
from archivebox.jobs.importing import older_than
from archivebox.jobs.models import Job
from archivebox.lib.object_store import ObjectStoreError
from archivebox.machine.host import Machine
from archivebox.machine.periodic import DAILY, periodic_task
from archivebox.storage.shared_files import StorageReport, collect_folder, store_folders

log = logging.getLogger(__name__)

COPIES_EVERY = timedelta(minutes=5)
STORE_SECONDS = 240.0
"""What else is due waits no longer for pages that are stored; the rest has its turn with the next look."""
UNUSED_EVERY = timedelta(hours=1)


class StorageUpkeep:
    """The folders that a worker has still to look through today. What a killed one has left is for tomorrow."""

    def __init__(self) -> None:
        self._folders: Iterator[Path] = iter(())
        self._left_are_due = False

    def begin_if_due(self) -> None:
        """Called again and again, on the database thread, on which nothing is deleted: commits and leases need it."""
        with periodic_task(f"storage_gc:{Machine.current().pk}", DAILY) as is_due:
            if is_due:
                self._folders = store_folders(DATA_FOLDER.users)
                self._left_are_due = True

    def _remove_left_folders(self) -> None:
        try:
            remove_left_folders()
        except (OSError, DatabaseError) as error:
            log.warning("Not deleted: %s action=left_folders_not_removed", error)

    def clean_next_folder(self) -> None:
        """Delete what is unused in one folder, on any thread. What cannot be deleted stays: it ends no worker.

        First what killed readers have left, for which it asks the database.
        """
        if self._left_are_due:
            self._left_are_due = False
            self._remove_left_folders()
        report = StorageReport()
        try:
            for folder in self._folders:
                collect_folder(folder, report)
                break
        except OSError as error:
            log.warning("Stored bodies were not looked through: %s action=storage_gc_failed", error)
        if report.files:
            log.info("Deleted unused bodies action=storage_gc files=%d bytes=%d", report.files, report.bytes)


class StoreUpkeep:
    """Local copies of each machine, and the objects that all have in common, by one of them; on a thread of its own."""

    def run_if_due(self, may_go_on: Callable[[], bool] = lambda: True) -> None:
        """What is due. A store that is away ends no worker: the next time is soon enough."""
        if not has_store():
            return
        try:
            if _is_due(f"page_copies:{Machine.current().pk}", COPIES_EVERY):
                _look_after_copies(may_go_on)
            if _is_due("store_unused", UNUSED_EVERY):
                _collect(may_go_on, is_whole=False)
            if _is_due("store_unknown", DAILY):
                _collect(may_go_on, is_whole=True)
        except (ObjectStoreError, OSError, DatabaseError) as error:
            log.warning("The object store was not looked after: %s action=store_upkeep_failed", error)
        finally:
            connection.close()


def _is_due(name: str, every: timedelta) -> bool:
    with periodic_task(name, every) as is_due:
        return is_due


def _look_after_copies(may_go_on: Callable[[], bool]) -> None:
    until = time.monotonic() + STORE_SECONDS
    if stored := store_marked(lambda: may_go_on() and time.monotonic() < until):
        log.info("Stored pages that were not stored at their seal action=pages_stored pages=%d", stored)
    if freed := evict(storage_settings().cache):
        log.info("Deleted local copies action=page_copies_evicted bytes=%d", freed)


def _collect(may_go_on: Callable[[], bool], *, is_whole: bool) -> None:
    report = StoreGarbage()
    while collect_unused(report) and may_go_on():
        continue
    if is_whole and may_go_on():
        collect_uploads(report)
        collect_unknown(report)
    log.info(
        "Looked through the object store action=store_gc objects=%d uploads=%d unknown=%d bytes=%d",
        report.objects, report.uploads, report.unknown, report.bytes,
    )  # fmt: skip


# --- removed pages, imports -------------------------------------------------------------------------------------------
def purge_today(days: int) -> None:
    """Begin the job of today, if there is something to do; ``days``: how long what is removed stays, 0: for ever.

    Called again and again by every worker: one job a day in all, and files of imports on each machine.
    """
    if not days:
        return
    before = timezone.now() - timedelta(days=days)
    with periodic_task(f"forget_imports:{Machine.current().pk}", DAILY) as is_due:
        if is_due:
            _forget_imports(before)
    with periodic_task("purge", DAILY) as is_due:
        keys = list(_removed_before(before).values_list("pk", flat=True)[:MOST_KEYS]) if is_due else []
        if keys:
            begin(JobRequest(Job.Kind.PURGE, created_by=system_user(), snapshots=keys))


def _removed_before(moment: datetime) -> "models.QuerySet[Snapshot]":
    return Snapshot.objects.filter(retired_at__lt=moment).order_by("retired_at")


def _forget_imports(before: datetime) -> None:
    """What lies there and cannot be deleted stays: it ends no worker."""
    for path in older_than(before):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("Not deleted: %s action=import_left", error)


LASTS = timedelta(days=7)
"""How long an uploaded file waits for somebody to import what is in it."""


def remove_unneeded_uploads() -> None:
    """Called again and again by whatever runs on this machine. What cannot be deleted stays: it ends no worker."""
    for key in uploaded_keys():
        if is_new(key) or _is_needed(key):
            continue
        try:
            remove_upload(key)
        except OSError as error:
            log.warning("Not deleted: %s action=upload_left", error)


def _is_needed(key: UUID) -> bool:
    oldest, paused = timezone.now() - LASTS, Job.StatusChoices.PAUSED
    for job in Job.objects.filter(memory__upload=str(key)):
        is_undecided = job.kind == Job.Kind.INSPECT and (job.status == paused or job.awaits_decision)
        if job.modified_at > oldest if is_undecided else job.status in (*Job.OPEN, paused):
            return True
    return False
