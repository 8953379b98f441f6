"""Owns `archivebox crawl create`, `update` and `delete`."""

from collections.abc import Callable, Mapping
from typing import Any

from archivebox.cli.add.body import accept_given, refuse_early
from archivebox.cli.add.piped import PipedInput
from archivebox.cli.crawl.body import COLUMNS, with_counts
from archivebox.cli.deleting import confirm
from archivebox.cli.errors import BadInputError
from archivebox.cli.fields import CRAWL
from archivebox.cli.output import counted
from archivebox.cli.records import pages
from archivebox.cli.selection import select_rows
from archivebox.cli.session import Session
from archivebox.core.crawl_control import edit_crawl
from archivebox.crawls import control
from archivebox.crawls.models import Crawl

__all__ = ["create", "delete", "refuse_early", "update"]

REFUSED = 2
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
            (record,) = with_counts([crawl])
            session.out.event(record, f"crawl {crawl.pk} is {crawl.status}.")
    return code


def delete(
    session: Session, *, ids: tuple[str, ...], where: Mapping[str, str], every: bool, yes: bool, dry_run: bool
) -> int:
    rows = select_rows(session.out, Crawl, CRAWL, every=every, ids=ids, where=where)
    found = [crawl for page in pages(rows) for crawl in page]
    if not found:
        session.out.say("No crawl was chosen. Nothing was done.")
        return 0

    def show() -> None:
        session.out.table(COLUMNS, with_counts(found))

    if not confirm(session, len(found), "crawl", "removed with its pages", show, yes=yes, dry_run=dry_run):
        return 0
    count = sum(map(edit_crawl.discard, found))
    record = {"type": "Removal", "crawls": len(found), "snapshots": count}
    hint = "`archivebox crawl update --status queued ID` brings the pages of one back."
    session.out.event(record, f"{counted(len(found), 'crawl')} ended, {counted(count, 'page')} removed. {hint}")
    return 0
