"""Owns `archivebox run`."""

from archivebox.cli.errors import BadInputError
from archivebox.cli.run.records import accept_records, resume_if_stopped, resume_with_crawl
from archivebox.cli.select import find_snapshot
from archivebox.cli.session import Session
from archivebox.cli.stdin import STDIN, is_selection, read_records
from archivebox.cli.values import find
from archivebox.cli.watching import Watched, watch
from archivebox.core.crawl_control.retry import retry_results
from archivebox.core.models import ArchiveResult
from archivebox.crawls.models import Crawl
from archivebox.workers.queue.watchers import Only


def run(
    session: Session,
    *,
    source: str | None,
    daemon: bool,
    crawl: str | None,
    snapshot: str | None,
    archiveresult: str | None,
) -> int:
    """Work until nothing is left; with ``--daemon`` for ever; with an id, or records on stdin, until these are done."""
    if source not in (None, STDIN):
        raise BadInputError(f"`archivebox run` accepts no {source!r}: --snapshot runs one page, - reads records.")
    chosen = [name for name in (crawl, snapshot, archiveresult, source) if name]
    if len(chosen) + daemon > 1:
        raise BadInputError("--daemon, --crawl, --snapshot, --archiveresult and - exclude each other: choose one.")
    if daemon:
        return worker(session)
    if source or (not chosen and is_selection()):
        records = read_records(session.out, urls=True)
        if records or source:
            return watch(session, Watched(accept_records(session, records)))
    return watch(session, Watched(only=_only(crawl, snapshot, archiveresult)))


def _only(crawl: str | None, snapshot: str | None, archiveresult: str | None) -> Only | None:
    """What to work on and to wait for, after it has been made due; None: everything."""
    if crawl:
        return Only(resume_if_stopped(find(Crawl, crawl)).pk)
    if snapshot:
        one = find_snapshot(snapshot)
        return Only(resume_with_crawl(one).pk, one.pk)
    if archiveresult:
        result = find(ArchiveResult, archiveresult)
        crawl_id = resume_if_stopped(result.snapshot.crawl).pk
        retry_results(ArchiveResult.objects.filter(pk=result.pk))
        return Only(crawl_id, result.snapshot_id)
    return None


def worker(session: Session) -> int:
    """Stay and take what comes: the machine joins those that work on this collection."""
    session.out.say("Running until stopped. Press Ctrl-C to stop; nothing is lost.")
    return watch(session, Watched(endless=True))
