"""Owns the beginning of a job: what was asked for is checked, its Snapshots are decided on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from uuid import UUID

from django.contrib.auth.models import User

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import ViewerScope
from archivebox.base_models.wakeups import notify_workers
from archivebox.jobs.action import actions
from archivebox.jobs.models import Job, JobPart, packed
from archivebox.jobs.permission import limits, scope_of_job
from archivebox.lib.batches import batches
from archivebox.lib.jsonl import JSON
from archivebox.lib.suggestions import did_you_mean
from archivebox.search.query import chosen, parse

FREEZE = 5_000
"""Snapshots that one transaction decides on, a multiple of every batch: others wait to write meanwhile."""
MOST_KEYS = 10_000
"""Snapshots that a request names one by one."""


Noting = Callable[[Job], object]
"""What is written of a job in the transaction by which it begins, or is done."""


def without_record(_job: Job) -> None:
    """Nothing is written of it."""


class JobRefusedError(ValueError):
    """What was asked for cannot be done; the message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What is to be done to ``snapshots``, to all that ``query`` means when it begins, or to those of a ``former`` job.

    Of all of these to what ``created_by`` sees, or, with ``scope``, to no more than that.
    ``most``: so many may be named.
    """

    kind: str
    _: KW_ONLY
    created_by: User
    options: Mapping[str, JSON] = field(default_factory=dict)
    query: str | None = None
    snapshots: Sequence[UUID] = ()
    most: int = MOST_KEYS
    former: Job | None = None
    scope: ViewerScope | None = None

    def job(self) -> Job:
        """Its row, not written yet; JobRefusedError where there is no such job, or options are missing or wrong."""
        if self.kind not in actions():
            raise JobRefusedError(f"There is no job {self.kind!r}; there are {', '.join(actions())}.")
        try:
            options = actions()[self.kind].check(self.options)
        except ValueError as error:
            raise JobRefusedError(str(error)) from None
        for name in self.options:
            if name not in options:
                raise JobRefusedError(_no_such_option(name, self.kind, list(options)))
        job = Job(kind=self.kind, options=options, query=self.query or "", created_by=self.created_by)
        job.memory |= limits(self.scope)
        return job


def _no_such_option(name: str, kind: str, known: Sequence[str]) -> str:
    otherwise = f"Did you mean {' or '.join(known)}?" if known else "It has none."
    return f"There is no option {name!r} of the job {kind!r}. {did_you_mean(name, known, otherwise)}"


def begin(request: JobRequest, *, noting: Noting = without_record) -> Job:
    """Have workers do it; ``noting`` is called in the transaction of its beginning.

    JobRefusedError where it cannot be done, or there is nothing to do it to; QueryError.
    """
    job, keys, former = request.job(), list(dict.fromkeys(request.snapshots)), request.former
    if request.query is not None:
        parse(request.query)
    elif former is not None:
        job.total = former.total
    elif 0 < len(keys) <= request.most:
        job.total = len(keys)
    else:
        raise JobRefusedError(f"Choose pages: between 1 and {request.most:,}, or all that a query means.")
    with write_transaction():
        job.save(force_insert=True)
        if former is not None:
            _copy_parts(job, former)
        elif request.query is None:
            _write_parts(job, keys, 0)
        noting(job)
        notify_workers()
    return job


def next_selected(job: Job) -> list[UUID]:
    """More of what a job's query means, the newest first; fewer than FREEZE: these are the last. Outside of
    transactions, since a search engine may be asked.
    """
    last = JobPart.objects.filter(job=job).order_by("-number").first()
    selection = chosen(job.query, scope_of_job(job), among=actions()[job.kind].rows(), every=True)
    rows = selection.rows if last is None else selection.within(None, last.keys[-1]).exclude(pk=last.keys[-1])
    return list(rows.order_by("-pk").values_list("pk", flat=True)[:FREEZE])


def add_parts(job: Job, keys: Sequence[UUID]) -> None:
    """Decide on these Snapshots; ``total`` says that they were the last."""
    frozen = job.memory.get("frozen", 0)
    _write_parts(job, keys, frozen // actions()[job.kind].batch)
    job.memory["frozen"] = frozen + len(keys)
    if len(keys) < FREEZE:
        job.total = frozen + len(keys)


def _write_parts(job: Job, keys: Sequence[UUID], number: int) -> None:
    JobPart.objects.bulk_create(
        JobPart(job=job, number=number + place, keys_packed=packed(batch))
        for place, batch in enumerate(batches(keys, actions()[job.kind].batch))
    )


def _copy_parts(job: Job, former: Job) -> None:
    """The same Snapshots, in the same parts: both kinds have as many in one."""
    parts = JobPart.objects.filter(job=former).order_by("number")
    JobPart.objects.bulk_create(JobPart(job=job, number=part.number, keys_packed=part.keys_packed) for part in parts)
