"""Carries out `archivebox crawl`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from django.db.models import Count

from archivebox.base_models.work import WorkItem
from archivebox.cli.add import PipedInput, accept_given
from archivebox.cli.conditions import find, find_all
from archivebox.cli.errors import BadInputError
from archivebox.cli.fields import CRAWL
from archivebox.cli.listing import RowTable, delete_rows, list_rows, pages, print_changed, record_of
from archivebox.cli.output import Column, Record, counted
from archivebox.cli.selection import select_rows
from archivebox.cli.session import REFUSED, Session
from archivebox.core.crawl_control import edit_crawl
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.crawls import control
from archivebox.crawls.crawl import CrawlQuerySet
from archivebox.crawls.models import Crawl
from archivebox.lib.egress import sum_totals
from archivebox.storage.layout import egress_dirs

COLUMNS = (
    Column("id", "id", wraps=True),
    Column("added", "created_at"),
    Column("status", "status"),
    Column("snapshots", "snapshots", right=True),
    Column("what", lambda record: record["label"] or str(record["urls"]).partition("\n")[0], wraps=True),
)


def crawl_records(rows: CrawlQuerySet, limit: int | None) -> Iterator[dict[str, object]]:
    for page in pages(rows, limit):
        yield from with_counts(page)


def with_counts(page: list[Crawl]) -> Iterator[dict[str, object]]:
    """Each with how many Snapshots it has; one query for all."""
    counts = dict(Snapshot.objects.filter(crawl__in=page).values_list("crawl_id").annotate(Count("id")))
    return (record_of(crawl, snapshots=counts.get(crawl.pk, 0)) for crawl in page)


CRAWLS = RowTable(
    "crawl",
    CRAWL,
    COLUMNS,
    with_counts,
    empty="No crawl matches.",
    line=lambda record: f"crawl {record['id']} is {record['status']}.",
)


def list_(session: Session, *, open: bool, **given: Any) -> int:  # noqa: A002 - the option's name
    return list_rows(session.out, CRAWLS, Crawl.objects.open() if open else Crawl.objects.all(), given)


def show(session: Session, *, id: str) -> int:  # noqa: A002 - the argument's name
    crawl = find(Crawl, id)
    snapshots = dict(Snapshot.objects.filter(crawl=crawl).values_list("status").annotate(Count("id")))
    results = ArchiveResult.objects.filter(snapshot__crawl=crawl).values_list("status").annotate(Count("id"))
    traffic = sum_totals(egress_dirs(crawl.path))
    record = record_of(crawl, snapshots=snapshots, results=dict(results), **asdict(traffic))
    labels = {
        "id": "id", "label": "label", "status": "status", "reason": "reason", "created_at": "added",
        "max_depth": "depth", "urls": "URLs", "tags_str": "tags", "config": "settings",
        "snapshots": "snapshots", "results": "results",
        "received": "received", "sent": "sent", "connections": "connections", "refused": "refused connections",
        "retry_at": "looks again", "output_dir": "folder", "source": "what was given",
    }  # fmt: skip
    session.out.facts(record, labels, frozenset({"received", "sent"}))
    return 0


def pause(session: Session, *, ids: tuple[str, ...]) -> int:
    return change(session, find_all(Crawl, ids), control.pause, "paused")


def resume(session: Session, *, ids: tuple[str, ...]) -> int:
    return change(session, find_all(Crawl, ids), control.resume, "resumed")


def cancel(session: Session, *, ids: tuple[str, ...]) -> int:
    return change(session, find_all(Crawl, ids), control.cancel, "cancelled")


def change(session: Session, items: list[WorkItem], ask: Callable[[WorkItem], bool], done: str) -> int:
    """Ask each item; status 2 if one of them was in no state for it."""
    refused = 0
    for item in items:
        name = type(item).__name__.lower()
        if ask(item):
            session.out.event(record_of(item), f"{name} {item.pk} is {done}.")
        else:
            refused += 1
            session.out.warn(f"{name} {item.pk} is {item.status} and cannot be {done}.")
    return REFUSED if refused else 0


CHANGES: Mapping[str, Callable[[Crawl], bool]] = {
    "queued": edit_crawl.go_on,
    "paused": control.pause,
    "sealed": control.cancel,
    "cancelled": control.cancel,
}


def create(session: Session, *, urls: tuple[str, ...], status: str, **options: Any) -> int:
    """Print the record of the crawl that was made, behind what was on stdin and is none."""
    piped = PipedInput(session.out, urls)
    accepted = accept_given(session, piped.open, hold=status == "paused", may_be_empty=True, **options)
    if accepted is None:
        return 0
    crawl = accepted.submitted.crawl
    if crawl is None:
        session.out.say("All of these are archived already; no crawl was made.")
        return 0
    (record,) = with_counts([crawl])
    session.out.event(record, f"Made crawl {crawl.pk} of {counted(len(accepted.submitted.seeds), 'URL')}.")
    return 0


def update(
    session: Session,
    *,
    ids: tuple[str, ...],
    every: bool,
    status: str | None,
    label: str | None,
    max_depth: int | None,
) -> int:
    """Exit status 2 where one of them is in no state for it."""
    if status is None and label is None and max_depth is None:
        raise BadInputError("Say what to change: --status, --label or --max-depth.")
    code = 0
    for page in pages(select_rows(session.out, Crawl, CRAWL, every=every, ids=ids)):
        for crawl in page:
            if label is not None:
                Crawl.objects.filter(pk=crawl.pk).update(label=label[:255])
            if max_depth is not None:
                edit_crawl.change(crawl, {}, max_depth=max_depth)
            if status and not CHANGES[status](crawl):
                session.out.warn(f"crawl {crawl.pk} is {crawl.status} and cannot be {status}.")
                code = REFUSED
            crawl.refresh_from_db()
            print_changed(session.out, CRAWLS, [crawl])
    return code


def delete(
    session: Session, *, ids: tuple[str, ...], where: Mapping[str, str], every: bool, yes: bool, dry_run: bool
) -> int:
    rows = select_rows(session.out, Crawl, CRAWL, every=every, ids=ids, where=where)
    found = [crawl for page in pages(rows) for crawl in page]

    def act() -> tuple[Record, str]:
        count = sum(map(edit_crawl.discard, found))
        hint = "`archivebox crawl update --status queued ID` brings the pages of one back."
        sentence = f"{counted(len(found), 'crawl')} ended, {counted(count, 'page')} removed. {hint}"
        return {"crawls": len(found), "snapshots": count}, sentence

    return delete_rows(session, CRAWLS, found, "removed with its pages", act, yes=yes, dry_run=dry_run)
