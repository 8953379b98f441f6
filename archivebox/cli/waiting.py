"""Owns waiting for a job: an orchestrator is kept at work until it has ended."""

from archivebox.cli.session import Session
from archivebox.jobs.models import Job
from archivebox.workers.queue.watchers import Only
from archivebox.workers.supervise.watch import Interrupted, OrchestratorFailedError, OrchestratorWatch

OUR_ERROR = 1
ENDED = (Job.StatusChoices.SEALED, Job.StatusChoices.CANCELLED, Job.StatusChoices.PAUSED)


def wait_for_job(session: Session, job: Job) -> int:
    """The exit status: 0 where it has ended, 128 + signal where somebody did not wait, 1 where nothing can work."""

    def has_ended() -> bool:
        job.refresh_from_db()
        return job.status in ENDED

    continues = f"`archivebox run` continues the job; `archivebox job cancel {job.pk}` ends it."
    session.if_stopped = continues
    try:
        with session.out.live() as draw, OrchestratorWatch(session.process, Only(job.pk), session.out.warn) as watching:
            watching.wait(has_ended, lambda: draw([progress_of(job)]))
    except Interrupted as stop:
        session.out.warn(continues)
        return 128 + stop.signum
    except OrchestratorFailedError as error:
        session.out.warn(f"{error}. Its log is {session.folder.logs / 'orchestrator.log'}.")
        return OUR_ERROR
    session.if_stopped = ""
    return 0


def progress_of(job: Job) -> str:
    """A line for people: what it does, and how far it is."""
    total = "?" if job.total is None else f"{job.total:,}"
    failed = f", {job.failed:,} failed" if job.failed else ""
    return f"{job}: {job.done:,} of {total}{failed}"
