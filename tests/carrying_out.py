"""Owns carrying out a job in a test, as a worker does."""

from __future__ import annotations

from collections.abc import Callable

from archivebox.base_models.rows import new_id
from archivebox.jobs.actions import ACTIONS
from archivebox.jobs.begin import next_to_freeze
from archivebox.jobs.carrying_out import begin_anew, end_lease, freeze_part, next_part, write_part
from archivebox.jobs.models import Job


def leased(job: Job) -> Job:
    Job.claim([job.pk], new_id())
    taken = Job.objects.get(pk=job.pk)
    if taken.status == "queued":
        taken.transition("start")
    return taken


def carried_out(job: Job, between: Callable[[], object] = lambda: None) -> Job:
    """What a worker does with it, on this thread."""
    known: Job | None = leased(job)
    assert known
    while known and known.total is None:
        known = freeze_part(known, next_to_freeze(known))
    assert known
    action = ACTIONS[known.kind](known)
    if not action.begin_or_resume():
        begin_anew(known)
        known.refresh_from_db()
    while part := next_part(known):
        action.prepare(part.keys)
        between()
        known = write_part(known, action, part)
        assert known
    action.finish()
    action.close()
    end_lease(known, "seal")
    known.refresh_from_db()
    return known
