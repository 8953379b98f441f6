"""Owns `archivebox run`."""

from archivebox.cli.errors import BadInputError
from archivebox.cli.select import find, find_snapshot
from archivebox.cli.session import Session
from archivebox.cli.watching import Watched, watch
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.core.retry import retry_results
from archivebox.crawls import control
from archivebox.crawls.models import Crawl
from archivebox.workers.queue.watchers import Only


def run(session: Session, *, daemon: bool, crawl: str | None, snapshot: str | None, archiveresult: str | None) -> int:
    """Work until nothing is left; with ``--daemon`` for ever; with an id until that is done."""
    chosen = [name for name in (crawl, snapshot, archiveresult) if name]
    if len(chosen) + daemon > 1:
        raise BadInputError("--daemon, --crawl, --snapshot and --archiveresult exclude each other: choose one.")
    if daemon:
        return worker(session)
    return watch(session, Watched(only=_only(crawl, snapshot, archiveresult)))


def _only(crawl: str | None, snapshot: str | None, archiveresult: str | None) -> Only | None:
    """What to work on and to wait for, after it has been made due; None: everything."""
    if crawl:
        return Only(_woken(find(Crawl, crawl)).pk)
    if snapshot:
        one = find_snapshot(snapshot)
        return Only(_of_snapshot(one).pk, one.pk)
    if archiveresult:
        result = find(ArchiveResult, archiveresult)
        crawl_id = _woken(result.snapshot.crawl).pk
        retry_results(ArchiveResult.objects.filter(pk=result.pk))
        return Only(crawl_id, result.snapshot_id)
    return None


def _woken(crawl: Crawl) -> Crawl:
    """Paused or cancelled ones are resumed: somebody asks for just this."""
    if crawl.status in {Crawl.StatusChoices.PAUSED, Crawl.StatusChoices.CANCELLED}:
        control.resume(crawl)
    return crawl


def _of_snapshot(snapshot: Snapshot) -> Crawl:
    if snapshot.status == Snapshot.StatusChoices.PAUSED:
        control.resume(snapshot)
    return _woken(snapshot.crawl)


def worker(session: Session) -> int:
    """Stay and take what comes: the machine joins those that work on this collection."""
    session.out.say("At work, and staying. Ctrl-C ends it; nothing is lost.")
    return watch(session, Watched(), lambda: False)
