"""Carries out `archivebox run`: the queue, one thing of it, or what records and URLs on stdin name."""

from collections.abc import Sequence
from uuid import UUID

from archivebox.base_models.keylist import key_list
from archivebox.cli import settings
from archivebox.cli.add import tell_accepted
from archivebox.cli.conditions import find
from archivebox.cli.errors import BadInputError
from archivebox.cli.selection import (
    STDIN,
    StdinRecord,
    by_type,
    find_snapshot,
    is_selection,
    read_records,
    require_ids,
    tell_left_out,
)
from archivebox.cli.session import Session
from archivebox.cli.watching import Watched, watch
from archivebox.core.crawl_control.retry import retry_results
from archivebox.core.intake.parse_input import ParsedInput, parse
from archivebox.core.intake.request import OPERATOR, CrawlRequest, RequestRefusedError, Seed
from archivebox.core.intake.submit import accept
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.crawls import control
from archivebox.crawls.models import Crawl
from archivebox.hooks import resolve_settings
from archivebox.lib.links.json_lists import link_of
from archivebox.workers.queue.watchers import Only


def accept_records(session: Session, records: Sequence[StdinRecord]) -> set[UUID]:
    """The Crawls to wait for. BadInputError, and nothing has happened, where one record cannot be run."""
    pages, crawls, others = by_type(records)
    pages += [StdinRecord(one.line, "Snapshot", {"url": url}) for one in crawls if one.key is None for url in one.urls]
    results = [record for record in others if record.type == "ArchiveResult"]
    known = set(_known(pages))
    fresh = _checked([record for record in pages if record.key not in known])
    crawl_keys = require_ids(Crawl, crawls)
    result_keys = require_ids(ArchiveResult, results, must_have_id=True)
    tell_left_out(session.out, [record for record in others if record.type != "ArchiveResult"])
    accepted = {
        resume_with_crawl(page).pk for page in Snapshot.objects.filter(pk__in=key_list(known)).select_related("crawl")
    }
    accepted |= {resume_if_stopped(crawl).pk for crawl in Crawl.objects.filter(pk__in=key_list(crawl_keys))}
    accepted |= _run_again(result_keys)
    return accepted | (tell_accepted(session, accept(fresh[0], OPERATOR, fresh[1])) if fresh else set())


def resume_if_stopped(crawl: Crawl) -> Crawl:
    """Paused or cancelled ones are resumed: somebody asks for just this."""
    if crawl.status in {Crawl.StatusChoices.PAUSED, Crawl.StatusChoices.CANCELLED}:
        control.resume(crawl)
    return crawl


def resume_with_crawl(snapshot: Snapshot) -> Crawl:
    """That of a page which is to run: neither is paused any more."""
    if snapshot.status == Snapshot.StatusChoices.PAUSED:
        control.resume(snapshot)
    return resume_if_stopped(snapshot.crawl)


def _known(pages: Sequence[StdinRecord]) -> list[UUID]:
    """The ids among these that are here; a page of another collection is added by its URL."""
    keys = {key for record in pages if (key := record.key)}
    return list(Snapshot.objects.filter(pk__in=key_list(keys)).values_list("pk", flat=True))


def _checked(pages: Sequence[StdinRecord]) -> tuple[CrawlRequest, ParsedInput] | None:
    """What is to be added; BadInputError where one cannot be archived."""
    links = [link_of(record.line, {"type": record.type, **record.fields}) for record in pages]
    for record, link in zip(pages, links, strict=True):
        if link.problem:
            raise record.refusal(link.problem if record.key is None else f"there is no snapshot {record.key}")
    depth = resolve_settings(settings.current_layers(is_collection=True)).get_int("MAX_DEPTH")
    request = CrawlRequest(urls=list(map(Seed.of_link, links)), depth=depth)
    try:
        return (request, parse(request, OPERATOR)) if links else None
    except RequestRefusedError as error:
        for refusal in error.refusals:
            raise pages[refusal.line - 1].refusal(refusal.sentence.rstrip(".")) from None
        raise BadInputError(str(error)) from None


def _run_again(keys: set[UUID]) -> set[UUID]:
    results = ArchiveResult.objects.filter(pk__in=key_list(keys))
    crawls = Crawl.objects.filter(pk__in=results.values("snapshot__crawl_id"))
    accepted = {resume_if_stopped(crawl).pk for crawl in crawls}
    retry_results(results)
    return accepted


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
