"""Owns `archivebox update`: making due now what failed, waits, or was never run."""

from typing import Any

from archivebox.cli import settings
from archivebox.cli.output import counted
from archivebox.cli.selection import select_snapshots
from archivebox.cli.session import Session
from archivebox.cli.watching import Watched, watch
from archivebox.core.crawl_control.retry import RETRIABLE, lacking_hooks, retry_missing, retry_results
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.workers.queue.readiness_check import orchestrator_is_running


def run(session: Session, *, every: bool, plugins: str | None, bg: bool, **choice: Any) -> int:
    """Queue it, then wait for it unless told not to."""
    names = settings.plugin_names(plugins)
    chosen = select_snapshots(session.out, every=every, all_at_terminal=True, **choice).rows
    results = ArchiveResult.objects.filter(RETRIABLE, snapshot__in=chosen)
    if names:
        results = results.filter(plugin__in=names)
    incomplete = lacking_hooks(chosen, names)
    crawl_ids = set(results.values_list("snapshot__crawl_id", flat=True))
    crawl_ids |= set(Snapshot.objects.filter(pk__in=incomplete).values_list("crawl_id", flat=True))
    count = retry_results(results)
    for start in range(0, len(incomplete), 500):
        retry_missing(Snapshot.objects.filter(pk__in=incomplete[start : start + 500]))
    record = {"type": "Update", "results": count, "snapshots": len(incomplete), "crawls": len(crawl_ids)}
    session.out.event(
        record,
        f"{counted(count, 'result')} are due now; {counted(len(incomplete), 'page')} lack hooks that were added since.",
    )
    if not crawl_ids:
        return 0
    if bg and not orchestrator_is_running():
        session.out.say("Nothing is running here. Start `archivebox run` or `archivebox server`.")
    return 0 if bg else watch(session, Watched(crawl_ids))
