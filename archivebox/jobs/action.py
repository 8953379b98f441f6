"""Owns what every kind of job has in common, part by part, and what carries out each kind, loaded when it is wanted."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar
from uuid import UUID

from archivebox.base_models.visibility import seen_by
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.jobs.models import Job
from archivebox.jobs.permission import scope_of_job
from archivebox.lib.jsonl import JSON

Options = Mapping[str, JSON]
Failures = dict[UUID, str]
"""Snapshot → why it could not be done to it."""

GONE = "It no longer exists."


class DeferredError(Exception):
    """The job makes way for work that comes first, and goes on later; nothing was done to its present part."""


class JobAction:
    """One kind of job at work on one Job. An OSError or SearchUnavailableError ends the job, with its sentence."""

    batch: ClassVar[int] = 100
    """Snapshots of one part."""
    pauses_on_full_disk: ClassVar[bool] = False
    """Whether it is paused then, to be resumed when there is space. Others end, and may be begun anew."""
    why_not: ClassVar[str] = GONE
    """What is said of those that it cannot be done to."""

    def __init__(self, job: Job) -> None:
        self.job = job

    @classmethod
    def check(cls, options: Options) -> dict[str, JSON]:
        """The options as the job keeps them; ValueError says what is wrong."""
        if options:
            raise ValueError(f"This job knows no option {', '.join(options)}.")
        return {}

    def among(self) -> SnapshotQuerySet:
        """The Snapshots that it can be done to, of those that are there for whoever began the job."""
        return seen_by(scope_of_job(self.job), self.rows())

    @classmethod
    def rows(cls) -> SnapshotQuerySet:
        """The same, whoever asks."""
        rows: SnapshotQuerySet = Snapshot.objects.kept()
        return rows

    def begin_or_resume(self) -> bool:
        """A worker begins with it, or goes on; False: what was begun is lost, and it has to begin anew."""
        return True

    def prepare(self, keys: Sequence[UUID]) -> None:
        """What takes long, outside of any transaction, on a thread of its own. It may be done twice."""

    def prepared(self, keys: Sequence[UUID]) -> int:
        """To how many of the first of these :meth:`write` can do it now; the others are a part of their own then."""
        return len(keys)

    def write(self, keys: Sequence[UUID]) -> Failures:
        """What is done to rows, in the transaction by which the part is done."""
        there = list(self.among().filter(pk__in=keys).values_list("pk", flat=True))
        if there:
            self.write_rows(Snapshot.objects.filter(pk__in=there), there)
        return dict.fromkeys(set(keys) - set(there), self.why_not)

    def write_rows(self, rows: SnapshotQuerySet, keys: Sequence[UUID]) -> None:
        """The same, to those that are there."""

    def finish(self) -> None:
        """All parts are done. Outside of any transaction; it may be done twice."""

    def interrupt(self) -> None:
        """Have :meth:`prepare`, at work on another thread, end soon: by a DeferredError where it takes long."""

    def close(self) -> None:
        """The worker has ended its work on it."""


class FallibleAction(JobAction):
    """One that may fail for some of a part, which :meth:`prepare` finds out."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._found: Failures = {}
        """Those, and why."""

    def write(self, keys: Sequence[UUID]) -> Failures:
        return super().write(keys) | self._found


def texts(options: Options, name: str) -> list[str]:
    """An option that is a list of texts."""
    value = options.get(name) or []
    if not isinstance(value, list):
        raise ValueError(f"{name} is a list of names.")  # noqa: TRY004 - a value that somebody typed
    return [str(one) for one in value]


@cache
def actions() -> Mapping[str, type[JobAction]]:
    """The kind of a job → what carries it out."""
    from archivebox.jobs.actions import ACTIONS  # 30 ms that a command without a job does not pay

    return ACTIONS
