"""Owns `archivebox crawl`: looking at crawls, and pausing, resuming, cancelling them."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from django.db.models import Count

from archivebox.base_models.work import WorkItem
from archivebox.cli.fields import CRAWL
from archivebox.cli.listing import show_model
from archivebox.cli.output import Column
from archivebox.cli.records import pages, record_of
from archivebox.cli.session import Session
from archivebox.cli.values import find, find_all
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


def list_(session: Session, *, open: bool, **given: Any) -> int:  # noqa: A002 - the option's name
    rows = Crawl.objects.open() if open else Crawl.objects.all()
    return show_model(session.out, COLUMNS, rows, CRAWL, given, records=with_counts, empty="No crawl matches.")


def crawl_records(rows: CrawlQuerySet, limit: int | None) -> Iterator[dict[str, object]]:
    for page in pages(rows, limit):
        yield from with_counts(page)


def with_counts(page: list[Crawl]) -> Iterator[dict[str, object]]:
    """Each with how many Snapshots it has; one query for all."""
    counts = dict(Snapshot.objects.filter(crawl__in=page).values_list("crawl_id").annotate(Count("id")))
    return (record_of(crawl, snapshots=counts.get(crawl.pk, 0)) for crawl in page)


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
    return 2 if refused else 0
