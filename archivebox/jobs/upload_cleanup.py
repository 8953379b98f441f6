"""Owns removing uploaded files that no import needs: nobody decided, or a process died before it removed them."""

import logging
from datetime import timedelta
from uuid import UUID

from django.utils import timezone

from archivebox.imports.sources import is_new, remove_upload, uploaded_keys
from archivebox.jobs.job import Job

log = logging.getLogger(__name__)
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
