"""Owns `archivebox status`: what is here, what is being done, and what needs somebody."""

import shutil

from django.db.models import Count, Min

from archivebox.cli.session import Session
from archivebox.contract import reasons
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.crawls.models import Crawl
from archivebox.machine.models import Binary, Process
from archivebox.workers.supervise.watch import orchestrator_is_running

LABELS = {
    "path": "collection", "snapshots": "snapshots", "crawls": "open crawls", "running": "running hooks",
    "waiting": "waiting for a retry", "next_retry_at": "next retry", "failed": "failed, by reason",
    "orchestrator": "at work", "missing_programs": "missing programs", "database_bytes": "database (bytes)",
    "free_bytes": "free disk (bytes)",
}  # fmt: skip


def run(session: Session) -> int:
    folder = session.folder
    results = ArchiveResult.objects.in_back_off().aggregate(count=Count("id"), next=Min("retry_at"))
    record = {
        "type": "Status",
        "path": str(folder.root),
        "snapshots": _snapshots(),
        "crawls": dict(Crawl.objects.open().order_by().values_list("status").annotate(Count("id"))),
        "running": Process.objects.running().of_type(Process.TypeChoices.HOOK).count(),
        "waiting": results["count"],
        "next_retry_at": results["next"],
        "failed": _failed(),
        "orchestrator": orchestrator_is_running(),
        "missing_programs": sorted(Binary.objects.here().filter(status="failed").values_list("name", flat=True)),
        "database_bytes": folder.database.stat().st_size if folder.database.exists() else None,
        "free_bytes": shutil.disk_usage(folder.root).free,
    }
    session.out.facts(record, LABELS)
    if session.out.is_for_people:
        for code in _failed():
            session.out.say(f"  {code}: {reasons.sentence(code)} {reasons.action(code)}".rstrip())
    return 0


def _snapshots() -> dict[str, int]:
    counts = dict(Snapshot.objects.kept().order_by().values_list("status").annotate(Count("id")))
    return {"total": sum(counts.values()), **counts}


def _failed() -> dict[str, int]:
    """Reason → how many results failed for it, the commonest first."""
    rows = ArchiveResult.objects.filter(status="failed").exclude(reason="").order_by().values_list("reason")
    return dict(rows.annotate(count=Count("id")).order_by("-count")[:10])
