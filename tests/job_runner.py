"""Owns carrying out a job in a test, as a worker does."""

from __future__ import annotations

from collections.abc import Callable

from archivebox.base_models.rows import new_id
from archivebox.jobs.actions import ACTIONS
from archivebox.jobs.begin import next_selected
from archivebox.jobs.models import Job
from archivebox.jobs.runner import add_next_part, end_lease, next_part, restart_job, write_part


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
        known = add_next_part(known, next_selected(known))
    assert known
    action = ACTIONS[known.kind](known)
    if not action.begin_or_resume():
        restart_job(known)
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
