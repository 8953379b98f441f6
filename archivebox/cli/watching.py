"""Owns waiting for work: until when, what is shown meanwhile, and the exit status that comes of it."""

import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q
from django.utils import timezone

from archivebox.base_models.work import FREE_AND_WANTED, HELD
from archivebox.cli import administrator
from archivebox.cli.listing import came_to_of, record_of
from archivebox.cli.output import Output, counted
from archivebox.cli.session import Session
from archivebox.contract import reasons
from archivebox.contract.reasons import Reason
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.core.progress.crawl_progress import nothing_kept
from archivebox.crawls.models import Crawl, CrawlRun
from archivebox.hooks import discover_hooks
from archivebox.jobs.models import Job
from archivebox.machine.models import Binary
from archivebox.machine.process import NO_SUCCESS
from archivebox.webhooks.models import Delivery
from archivebox.workers.queue.watchers import Only
from archivebox.workers.supervise.watch import Interrupted, OrchestratorFailedError, OrchestratorWatch

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


ALL_SEALED, OUR_ERROR = 0, 1
OVERLAP = timedelta(seconds=5)
"""How far back sealed Snapshots are looked for again: two workers commit in another order than their clocks say."""
LONGEST_WAIT = timedelta(minutes=10)
"""How long a command waits for a server that has said when it may be asked again."""
SHARE = 20
"""A drawing waits 20 times as long as the last one took, so that a crawl of a million pages is not slowed by it."""
SHOWN_HOOKS = 8
FORGET_EVERY = 60.0
"""Seconds after which a command that never ends shows no more of what is done."""
QUIET = (Reason.DECLARED, Reason.TEMPORARY_FAILURE, Reason.CANCELLED, Reason.NOTHING_CAME)
STOPPED = (Crawl.StatusChoices.PAUSED, Crawl.StatusChoices.CANCELLED)


def _due() -> Q:
    """Wanted now, or held by a worker; what waits for a retry in the future is neither."""
    return HELD | Q(retry_at__lte=timezone.now())


def _awaited(snapshots: Any) -> Any:
    """Of these, those whose server has said when it may be asked again, which is soon; they are sealed until then."""
    asked = ArchiveResult.objects.filter(
        snapshot=OuterRef("pk"), status="backoff", reason=Reason.SERVER_BUSY, output_json__retry_after__gt=0
    )
    soon = timezone.now() + LONGEST_WAIT
    return snapshots.filter(FREE_AND_WANTED, Exists(asked), status=Snapshot.StatusChoices.SEALED, retry_at__lte=soon)


def _have_work(snapshots: Any) -> bool:
    """Whether one of these is open or due, or is awaited."""
    return bool(snapshots.filter(_due() | Q(status__in=Snapshot.OPEN)).exists() or _awaited(snapshots).exists())


def is_done(crawl: Crawl) -> bool:
    """Nothing of it runs or could run now: sealed, stopped by a person, or open only for what is paused."""
    if crawl.status in STOPPED:
        return crawl.owner is None and not Snapshot.objects.filter(HELD, crawl=crawl).exists()
    if crawl.owner is not None or (crawl.retry_at is not None and crawl.retry_at <= timezone.now()):
        return False
    snapshots = Snapshot.objects.filter(crawl=crawl)
    if _have_work(snapshots):
        return False
    return crawl.status not in Crawl.OPEN or snapshots.filter(status=Snapshot.StatusChoices.PAUSED).exists()


def is_idle() -> bool:
    """Nothing in the whole collection runs or could run now."""
    jobs = Job.objects.requested()
    if any(rows.filter(_due()).exists() for rows in (CrawlRun.objects, Binary.objects, jobs, Delivery.objects)):
        return False
    if Snapshot.objects.filter(HELD | (_due() & ~Q(crawl__status__in=STOPPED))).exists():
        return False
    if _awaited(Snapshot.objects.exclude(crawl__status__in=STOPPED)).exists():
        return False
    return all(is_done(crawl) for crawl in Crawl.objects.filter(Q(status__in=Crawl.OPEN) | _due()))


class Watched:
    """The Crawls that one command waits for; without any: all that is open, also what comes while it waits.

    ``only``: that nothing else is worked on meanwhile, unless somebody else waits too. ``endless``: until somebody
    stops the command. ``began``: when; else now.
    """

    def __init__(
        self,
        crawl_ids: Iterable[UUID] | None = None,
        only: Only | None = None,
        *,
        endless: bool = False,
        began: datetime | None = None,
    ) -> None:
        self.everything = crawl_ids is None and only is None
        self.endless = endless
        self.only = only
        self.crawl_ids: set[UUID] = {only.crawl} if only is not None else set(crawl_ids or ())
        self.job_ids: set[UUID] = set()
        self.began = began or timezone.now()
        self._forget_at = time.monotonic() + FORGET_EVERY

    def is_done(self, *, ends_elsewhere: bool = False) -> bool:
        """Whether nothing is left to wait for.

        ``ends_elsewhere``: a server beside us ends what the crawls hold, above all their browsers, so that their pages
        are enough; not where plugins have something to say of a whole crawl.
        """
        if self.everything:
            self._look()
            return not self.endless and is_idle()
        if self.only is not None and self.only.snapshot is not None:
            return not _have_work(self.snapshots())
        if ends_elsewhere and not discover_hooks("CrawlEnd") and self._are_under_way():
            return not _have_work(self.snapshots())
        return all(is_done(crawl) for crawl in self.crawls())

    def _look(self) -> None:
        """See what has come to be open."""
        if self.endless and time.monotonic() > self._forget_at:
            self.crawl_ids, self.job_ids = set(), set()
            self._forget_at = time.monotonic() + FORGET_EVERY
        self.crawl_ids |= set(self.crawls().values_list("pk", flat=True))
        self.job_ids |= set(Job.objects.requested().filter(status__in=Job.OPEN).values_list("pk", flat=True))

    def _are_under_way(self) -> bool:
        """Whether each of the crawls has been started, and nobody has stopped it."""
        return set(self.crawls().values_list("status", flat=True)) == {Crawl.StatusChoices.STARTED}

    def crawls(self) -> Any:
        """Those that it waits for now; more may come while it does."""
        if self.everything:
            return Crawl.objects.filter(Q(status__in=Crawl.OPEN) | _due())
        return Crawl.objects.filter(pk__in=self.crawl_ids)

    def snapshots(self) -> Any:
        if self.only is not None and self.only.snapshot is not None:
            return Snapshot.objects.filter(pk=self.only.snapshot)
        return Snapshot.objects.filter(crawl__in=self.crawl_ids)

    def jobs(self) -> Any:
        """What is done besides the crawls, as an import; none where only some crawls are waited for."""
        return Job.objects.filter(pk__in=self.job_ids).order_by("pk")

    def missing(self) -> set[UUID]:
        """Crawls of which there is no row any more; who waits for everything does not miss one."""
        if self.everything:
            return set()
        return self.crawl_ids - set(Crawl.objects.filter(pk__in=self.crawl_ids).values_list("pk", flat=True))

    def results(self) -> Any:
        return ArchiveResult.objects.filter(snapshot__in=self.snapshots())

    def sealed_since(self, when: datetime) -> Any:
        return self.snapshots().filter(status=Snapshot.StatusChoices.SEALED, sealed_at__gte=when)

    def without_success(self) -> int:
        """How many Snapshots that were sealed meanwhile have nothing to show."""
        return nothing_kept(self.sealed_since(self.began))


class ProgressOutput:
    """What is shown while work goes on: a drawing on a terminal, a JSON line per sealed Snapshot in a pipe."""

    def __init__(self, out: Output, watched: Watched, draw: Callable[[list[str]], None]) -> None:
        self.out = out
        self.watched = watched
        self._draw = draw
        self._told: dict[UUID, datetime] = {}
        self._last = watched.began
        self._not_before = 0.0

    def show(self, *, final: bool = False) -> None:
        """Called at each wake-up."""
        started = time.monotonic()
        if started < self._not_before and not final:
            return
        if self.out.is_for_people:
            self._draw(self._lines())
        else:
            self._tell_sealed()
        self._not_before = time.monotonic() + SHARE * (time.monotonic() - started)

    def _lines(self) -> list[str]:
        snapshots = by_status(self.watched.snapshots())
        results = by_status(self.watched.results())
        total = sum(snapshots.values())
        lines = [progress_of(job) for job in self.watched.jobs()]
        if self.watched.endless and not (total or lines):
            return ["Waiting for work."]
        if total or not lines:
            others = _others(snapshots, ("started", "queued", "paused"))
            lines += [f"{snapshots.get('sealed', 0)} of {total} pages done{others}", f"hooks: {_words(results)}"]
        running = self.watched.results().filter(status=ArchiveResult.StatusChoices.STARTED).select_related("snapshot")
        lines += [f"  {row.hook_name or row.plugin}  {row.snapshot.url}" for row in running[:SHOWN_HOOKS]]
        waiting = _awaited(self.watched.snapshots()).order_by("retry_at").values_list("retry_at", "url")
        lines += [f"  waits until {at.astimezone():%H:%M:%S}, as its server asked  {url}" for at, url in waiting[:2]]
        return lines

    def _tell_sealed(self) -> None:
        rows = list(self.watched.sealed_since(self._last - OVERLAP).order_by("sealed_at"))
        fresh = [row for row in rows if self._told.get(row.pk) != row.sealed_at]
        came_to = came_to_of(fresh)
        for row in fresh:
            self.out.record(record_of(row, **came_to[row.pk]))
        if rows:
            self._last = rows[-1].sealed_at
        self._told = {row.pk: row.sealed_at for row in rows}

    def summarise(self, code: int, without_success: int) -> None:
        """The last line: what came of it."""
        snapshots, results = by_status(self.watched.snapshots()), by_status(self.watched.results())
        jobs = by_status(self.watched.jobs())
        seconds = (timezone.now() - self.watched.began).total_seconds()
        record = {
            "type": "Summary",
            "crawl_ids": sorted(map(str, self.watched.crawl_ids)),
            "snapshots": snapshots,
            "results": results,
            "jobs": jobs,
            "without_success": without_success,
            "seconds": round(seconds, 3),
            "exit_code": code,
        }
        counts, hooks = list[str](), ""
        if snapshots or not jobs:
            counts.append(counted(snapshots.get("sealed", 0), "page"))
            hooks = f" Hooks: {_words(results)}."
        if jobs:
            counts.append(counted(jobs.get("sealed", 0), "job"))
        self.out.event(record, f"{' and '.join(counts)} in {seconds:.1f} s.{hooks}")


def by_status(rows: Any) -> dict[str, int]:
    """How many are in each status."""
    return dict(rows.order_by().values_list("status").annotate(Count("id")))


def _words(counts: dict[str, int]) -> str:
    order = ("queued", "started", "succeeded", "failed", "backoff", "noresults", "skipped")
    names = {"started": "running", "backoff": "waiting for a retry", "noresults": "without result"}
    return ", ".join(f"{counts[name]} {names.get(name, name)}" for name in order if counts.get(name)) or "none yet"


def _others(counts: dict[str, int], names: tuple[str, ...]) -> str:
    return "".join(f", {counts[name]} {name}" for name in names if counts.get(name))


def watch(session: Session, watched: Watched) -> int:
    """Keep an orchestrator at work until what is watched is done; returns the exit status.

    What only an administrator may install is asked for before: hooks have no terminal.
    """
    session.if_stopped = "Accepted URLs are saved; `archivebox run` continues."
    administrator.ask_for_crawls(session, watched.crawls())
    try:
        with OrchestratorWatch(session.process, watched.only, session.out.warn) as watching:
            with session.out.live() as draw:
                progress = ProgressOutput(session.out, watched, draw)
                try:
                    watching.wait(lambda: _is_done(watched, watching), progress.show)
                except Interrupted as stop:
                    session.out.warn("Stopping. Finished pages are saved; `archivebox run` continues the rest. "
                                     "Press Ctrl-C again to stop at once.")  # fmt: skip
                    return 128 + stop.signum
                watching.release()  # before it is shown: the orchestrator ends meanwhile
                progress.show(final=True)
            return report(session.out, watched, progress)
    except OrchestratorFailedError as error:
        session.out.warn(f"{error}. Its log is {session.folder.logs / 'orchestrator.log'}.")
        return OUR_ERROR


def report(out: Output, watched: Watched, progress: ProgressOutput) -> int:
    """Say what came of it; returns the exit status."""
    if missing := watched.missing():
        for key in missing:
            out.warn(f"Crawl {key} is no longer in the database. Add its URLs again to archive them.")
        return OUR_ERROR
    empty = watched.without_success()
    code = NO_SUCCESS if empty else ALL_SEALED
    progress.summarise(code, empty)
    _tell_waiting(out, watched, empty)
    if code == ALL_SEALED:
        _tell_where(out, watched)
    return code


def _is_done(watched: Watched, watching: OrchestratorWatch) -> bool:
    return watched.is_done(ends_elsewhere=watching.orchestrator is None)


def _troubles(watched: Watched) -> list[tuple[str, str, str]]:
    """Hooks that broke or could not run, each once for each reason; what a hook itself declared is its result.

    Where nothing came, the navigation says why, once for all hooks of the page.
    """
    broke = watched.results().filter(status__in=("backoff", "failed")).exclude(reason__in=("", *QUIET))
    return list(broke.order_by().values_list("plugin", "hook_name", "reason").distinct()[:SHOWN_HOOKS])


def _tell_waiting(out: Output, watched: Watched, empty: int) -> None:
    """What is left: what was paused, results that wait for their retry, and pages that gave nothing."""
    for key in Crawl.objects.filter(pk__in=watched.crawl_ids, status=Crawl.StatusChoices.PAUSED).values_list("pk"):
        out.say(f"Paused: `archivebox crawl resume {key[0]}` continues it.")
    for job in watched.jobs().filter(status=Job.StatusChoices.PAUSED):
        out.say(f"Paused: `archivebox job resume {job.pk}` continues it. {job.problem}".rstrip())
    waiting = watched.results().filter(status=ArchiveResult.StatusChoices.BACKOFF).count()
    if waiting:
        out.say(f"Will be retried: {counted(waiting, 'hook')}. `archivebox update` retries now.")
    for plugin, hook, code in _troubles(watched):
        out.say(f"{plugin}/{hook}: {reasons.sentence(code)} {reasons.action(code)}".rstrip())
    if empty:
        out.say(f"Nothing to show: {counted(empty, 'page')}. `archivebox snapshot show URL` says why.")


def _tell_where(out: Output, watched: Watched) -> None:
    """What somebody who reads this may want next: where it is."""
    kept = list(watched.sealed_since(watched.began)[:2])
    if out.is_for_people and kept:
        where = f" in {kept[0].path}" if len(kept) == 1 else ""
        out.say(f"Saved{where}; `archivebox server` shows it in a browser.")
