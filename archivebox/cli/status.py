"""Carries out `archivebox status` and `archivebox init`: what is here, what is being done, what needs somebody."""

import shutil

from django.db.models import Count, Min

from archivebox.backup.destination import last_backup
from archivebox.cli.output import Output, counted
from archivebox.cli.session import Session
from archivebox.contract import reasons
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.crawls.models import Crawl
from archivebox.jobs.models import Job
from archivebox.machine.models import Binary, Process
from archivebox.workers.queue.readiness_check import orchestrator_is_running


def init(session: Session, *, force: bool) -> int:
    """Make the collection, or bring it up to date; say so, and what comes next."""
    session.open(create=True, begin_anew=force)
    folder = session.folder
    count = Snapshot.objects.kept().count()
    record = {"type": "Collection", "path": str(folder.root), "snapshots": count}
    sentence = f"The collection in {folder.root} is ready; it has {count:,} snapshots."
    hint = "" if count else " `archivebox add URL` archives a page, `archivebox install` gets the programs for it."
    session.out.event(record, sentence + hint)
    return 0


LABELS = {
    "path": "collection", "snapshots": "snapshots", "crawls": "open crawls", "jobs": "open jobs",
    "running": "running hooks", "waiting": "waiting for a retry", "next_retry_at": "next retry",
    "orchestrator": "at work", "missing_programs": "missing programs", "database_bytes": "database",
    "free_bytes": "free disk", "last_backup": "last backup",
}  # fmt: skip
SIZES = frozenset({"database_bytes", "free_bytes"})
MOST_REASONS, MOST_PAGES = 10, 3
BROKEN = ("failed", "backoff")


def run(session: Session) -> int:
    folder = session.folder
    Process.cleanup_stale_running()
    results = ArchiveResult.objects.in_back_off().aggregate(count=Count("id"), next=Min("retry_at"))
    failed = _failed()
    record = {
        "type": "Status",
        "path": str(folder.root),
        "snapshots": _snapshots(),
        "crawls": dict(Crawl.objects.open().order_by().values_list("status").annotate(Count("id"))),
        "jobs": _jobs(),
        "running": Process.objects.running().of_type(Process.TypeChoices.HOOK).count(),
        "waiting": results["count"],
        "next_retry_at": results["next"],
        "failed": failed,
        "failed_pages": {code: _pages(code) for code in failed},
        "orchestrator": orchestrator_is_running(),
        "missing_programs": sorted(Binary.objects.here().filter(status="failed").values_list("name", flat=True)),
        "database_bytes": folder.database.stat().st_size if folder.database.exists() else None,
        "free_bytes": shutil.disk_usage(folder.root).free,
        "last_backup": str(last) if (last := last_backup(folder)) else None,
    }
    session.out.facts(record, LABELS, SIZES)
    if session.out.is_for_people and failed:
        _say_what_failed(session.out, failed)
    return 0


def _say_what_failed(out: Output, failed: dict[str, int]) -> None:
    """Each reason as a sentence, what to do about it, and pages to look at."""
    for code, count in failed.items():
        out.say("")
        out.say(f"{counted(count, 'hook')} failed. {reasons.sentence(code)} {reasons.action(code)}".rstrip())
        for url in _pages(code):
            out.say(f"    {url}")
    out.say("")
    out.say("`archivebox snapshot show URL` tells more of a page; `archivebox update` tries all of it again.")


def _snapshots() -> dict[str, int]:
    counts = dict(Snapshot.objects.kept().order_by().values_list("status").annotate(Count("id")))
    return {"total": sum(counts.values()), **counts}


def _jobs() -> dict[str, int]:
    """Status → how many are in it, of those that are not done."""
    rows = Job.objects.requested().filter(status__in=(*Job.OPEN, Job.StatusChoices.PAUSED))
    return dict(rows.order_by().values_list("status").annotate(Count("id")))


def _failed() -> dict[str, int]:
    """Reason → how many results of pages that are kept failed for it, for good or for now, the commonest first."""
    rows = ArchiveResult.objects.filter(status__in=BROKEN, snapshot__retired_at__isnull=True).exclude(reason="")
    counts = rows.order_by().values_list("reason").annotate(count=Count("id"))
    return dict(counts.order_by("-count")[:MOST_REASONS])


def _pages(code: str) -> list[str]:
    """The latest pages on which something failed for this reason."""
    results = ArchiveResult.objects.filter(status__in=BROKEN, reason=code)
    rows = Snapshot.objects.kept().filter(pk__in=results.values("snapshot")).order_by("-id")
    return list(rows.values_list("url", flat=True)[:MOST_PAGES])
