"""Owns when files of removed pages, and of imports, go: a job a day, for all that was removed long enough ago."""

import logging
import os
from datetime import datetime, timedelta

from django.utils import timezone

from archivebox.base_models.users import system_user
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.snapshot import Snapshot
from archivebox.jobs.begin import MOST_KEYS, JobRequest, begin
from archivebox.jobs.imported import older_than
from archivebox.jobs.job import Job
from archivebox.lib.files import locked

log = logging.getLogger(__name__)


def purge_today(days: int) -> None:
    """Begin the job of today, if there is something to do; ``days``: how long what is removed stays, 0: for ever.

    Called again and again by whatever runs on this machine: its lock lets one at a time, its content says what is done.
    """
    today = timezone.now().date().isoformat()
    if not days or _read_stamp() == today:
        return
    with locked(DATA_FOLDER.purge_stamp, blocking=False) as stamp:
        if stamp is None or _read_stamp() == today:
            return
        _forget_imports(timezone.now() - timedelta(days=days))
        old = Snapshot.objects.filter(retired_at__lt=timezone.now() - timedelta(days=days))
        keys = list(old.order_by("retired_at").values_list("pk", flat=True)[:MOST_KEYS])
        if keys:
            begin(JobRequest(Job.Kind.PURGE, created_by=system_user(), snapshots=keys))
        os.pwrite(stamp, today.encode(), 0)


def _forget_imports(before: datetime) -> None:
    """What lies there and cannot be deleted stays: it ends no worker."""
    for path in older_than(before):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("Not deleted: %s action=import_left", error)


def _read_stamp() -> str:
    try:
        return DATA_FOLDER.purge_stamp.read_text()
    except FileNotFoundError:
        return ""
