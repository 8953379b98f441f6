"""Owns when files of removed pages, and of imports, go: once a day, what is old enough by then."""

import logging
from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone

from archivebox.base_models.users import system_user
from archivebox.core.snapshot import Snapshot
from archivebox.jobs.begin import MOST_KEYS, JobRequest, begin
from archivebox.jobs.imported import older_than
from archivebox.jobs.job import Job
from archivebox.machine.host import Machine
from archivebox.machine.periodic import DAILY, periodic_task

log = logging.getLogger(__name__)


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
