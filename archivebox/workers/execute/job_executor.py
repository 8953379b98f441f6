"""A Job in the hands of a worker: part after part, what takes long on a thread of its own."""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar
from uuid import UUID

from django.db import connections
from django.utils import timezone

from archivebox.base_models.transient import OF_DATABASE, is_disk_full, retry_transient
from archivebox.config.resolve import SettingError
from archivebox.jobs.action import DeferredError, JobAction, actions
from archivebox.jobs.begin import next_selected
from archivebox.jobs.models import Job
from archivebox.jobs.runner import NextPart, add_next_part, end_lease, next_part, restart_job, write_part
from archivebox.lib.object_store import ObjectStoreError
from archivebox.search.backend import SearchUnavailableError
from archivebox.search.query import QueryError
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.leased_item import LeasedItem
from archivebox.workers.queue.claim import Due, FetchRequest
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.quarantine import quarantine

log = logging.getLogger(__name__)
T = TypeVar("T")
PROBLEMS = (OSError, ObjectStoreError, QueryError, SearchUnavailableError, SettingError)
"""What ends a job with its sentence; anything else is a fault of ours, and breaks the worker."""

DISK_FULL = "The disk is full. Make space, then resume the job."
Columns = dict[str, object]
DEFERRED_FOR = timedelta(seconds=15)
"""How soon a job that makes way for pages is looked at again."""


MOST_JOBS = 1
"""Jobs of one worker at a time: pages are worked on between their parts."""
MOST_IDLE_JOBS = 1
"""Jobs of one worker at a time that are done while nothing else is to be done."""


class JobExecutor(LeasedItem):
    """Carries out one job, and lets pages be worked on between two of its parts."""

    def __init__(self, engine: Engine, lease: Lease, job: Job) -> None:
        super().__init__(engine, lease)
        self._job = job
        self._action: JobAction = actions()[job.kind](job)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="job")
        self._task = engine.in_background(self._carry_out())

    @property
    def is_idle_work(self) -> bool:
        """Whether it is done beside the jobs that people wait for, while nothing else is to be done."""
        return self._job.kind == Job.Kind.MEASURE

    async def _carry_out(self) -> None:
        event, columns = "seal", Columns(problem="")
        try:
            await self._go_on()
        except DeferredError:
            event, columns = "release", Columns(retry_at=timezone.now() + DEFERRED_FOR)
        except PROBLEMS as error:
            event, columns = self._after(error)
        finally:
            await self._beside(self._close)
            self._thread.shutdown()
        has_failed = event == "seal" and columns["problem"]
        if has_failed or not self.ending:
            await self.engine.journal.read(partial(end_lease, self._job, event, **columns))
            self.finish()

    def _after(self, error: Exception) -> tuple[str, Columns]:
        """What becomes of the job that this error ended."""
        if self._action.pauses_on_full_disk and is_disk_full(error):
            log.warning("Job %s is paused: %s action=job_paused", self.lease.pk, error)
            return "pause", Columns(problem=DISK_FULL)
        log.warning("Job %s ends: %s action=job_failed", self.lease.pk, error)
        return "seal", Columns(problem=str(error))

    async def _go_on(self) -> None:
        """Until all is done, or somebody wants it to stop."""
        while self._job.total is None and not self.ending:
            keys = await self._beside(next_selected, self._job)
            self._know(await self.engine.journal.read(add_next_part, self._job, keys))
        if not self.ending and not await self._beside(self._action.begin_or_resume):
            self._know(await self.engine.journal.read(restart_job, self._job))
        while not self.ending:
            part: NextPart | None = await self.engine.journal.read(next_part, self._job)
            if part is None:
                await self._beside(self._action.finish)
                return
            await self._beside(self._action.prepare, part.keys)
            self._know(await self.engine.journal.read(write_part, self._job, self._action, part))

    def _know(self, job: Job | None) -> None:
        """How far it is now; None: the lease is lost, and nothing more may be done."""
        if job is None:
            self.ending = True
            self.finish()
        else:
            self._job = self._action.job = job

    async def _beside(self, work: Callable[..., T], *arguments: object) -> T:
        """Off the database thread, on a connection of its own: what is slow here keeps no page from its rows.

        Again while the database is away; a disk that is full ends the job, which somebody may begin anew.
        """
        patient = partial(retry_transient, partial(work, *arguments), of=OF_DATABASE)
        return await self.engine.loop.run_in_executor(self._thread, patient)

    def _close(self) -> None:
        self._action.close()
        connections.close_all()

    async def handle_request(self, event: str) -> None:
        await self._stop()
        if not self.over.done():
            await self.engine.journal.read(end_lease, self._job, event)
            self.finish()

    async def abandon(self) -> None:
        await self._stop()
        self.finish()

    async def _stop(self) -> None:
        """Begin no other part, and have the present one end soon where it takes long."""
        self.ending = True
        self._action.interrupt()
        await self._task


# --- on the database thread -------------------------------------------------------------------------------------


def select_due(engine: Engine, held: Sequence[JobExecutor]) -> Due:
    """Jobs that there is capacity for, the longest waiting first; whatever the disk: a removal makes room."""
    idle_jobs = sum(job.is_idle_work for job in held)
    jobs = MOST_JOBS - (len(held) - idle_jobs)
    may_measure = engine.settings.get_flag("MEASURE_REPLAY") and engine.disk.has_space()
    return partial(due, jobs, MOST_IDLE_JOBS - idle_jobs if may_measure else 0)


def due(jobs: int, idle_jobs: int, who: FetchRequest, now: datetime) -> list[UUID]:
    """The due jobs that ``who`` may work on, at most so many of each sort."""
    if jobs <= 0 and idle_jobs <= 0:
        return []
    rows = Job.objects.due(now).values_list("pk", "kind")[:16]
    found = [(key, kind == Job.Kind.MEASURE) for key, kind in rows if who.includes(key)]
    wanted = [key for key, is_idle in found if not is_idle][: max(0, jobs)]
    return wanted + [key for key, is_idle in found if is_idle][: max(0, idle_jobs)]


def load(job_id: UUID, owner: UUID) -> Job | None:
    """Load a leased Job."""
    job = Job.objects.select_related("created_by").filter(pk=job_id, owner=owner).first()
    if job is None or (job.attempts and quarantine(Lease(Job, job_id, owner, job.fence))):
        return None
    if job.status == Job.StatusChoices.QUEUED:
        job.transition("start")
    return job
