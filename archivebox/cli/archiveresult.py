"""Carries out `archivebox archiveresult`."""

from collections.abc import Iterator
from typing import Any

from archivebox.base_models.keylist import key_list
from archivebox.cli import settings
from archivebox.cli.conditions import find_all
from archivebox.cli.errors import BadInputError
from archivebox.cli.fields import ARCHIVERESULT
from archivebox.cli.listing import RowTable, list_rows, pages, print_changed, record_of
from archivebox.cli.output import Column, Record, counted
from archivebox.cli.selection import STDIN, read_keys_from_stdin, select_rows, select_snapshots
from archivebox.cli.session import REFUSED, Session
from archivebox.cli.watching import Watched, watch
from archivebox.core.crawl_control.queue_plugins import queue_plugins
from archivebox.core.crawl_control.retry import retry_results
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.lib.quantities import size

COLUMNS = (
    Column("id", "id", wraps=True),
    Column("hook", lambda record: record["hook_name"] or record["plugin"]),
    Column("status", "status"),
    Column("size", lambda record: size(int(str(record["output_size"]))) if record["output_size"] else "", right=True),
    Column("page", "url", wraps=True),
    Column("what", lambda record: record["sentence"] or record["output_str"], wraps=True),
)


def records_of(page: list[ArchiveResult]) -> Iterator[Record]:
    """Each with the URL of its page, and why it is as it is."""
    return (record_of(row, url=row.snapshot.url, sentence=row.sentence, action=row.action) for row in page)


RESULTS = RowTable(
    "result",
    ARCHIVERESULT,
    COLUMNS,
    records_of,
    empty="No result matches.",
    line=lambda record: f"{record['status']}  {record['hook_name']}  {record['url']}",
)


def list_(session: Session, *, ids: tuple[str, ...], **given: Any) -> int:
    rows = ArchiveResult.objects.select_related("snapshot").filter(snapshot__retired_at__isnull=True)
    if known := tuple(text for text in ids if text != STDIN):
        rows = rows.filter(pk__in=[row.pk for row in find_all(ArchiveResult, known)])
    if STDIN in ids:
        rows = rows.filter(snapshot__in=key_list(read_keys_from_stdin(session.out)))
    return list_rows(session.out, RESULTS, rows, given)


def create(
    session: Session,
    *,
    which: tuple[str, ...],
    every: bool,
    snapshot: str | None,
    plugins: str | None,
    run: bool,
    **choice: Any,
) -> int:
    """Exit status 2 where a page is at work, or was cancelled: nothing can be queued for it now."""
    names = settings.plugin_names(plugins)
    which = (*which, snapshot) if snapshot else which
    rows = select_snapshots(session.out, every=every, all_at_terminal=False, which=which, passes=True, **choice).rows
    chosen = list(rows.order_by("pk").values_list("pk", flat=True))
    queued = queue_plugins(chosen, names)
    for page in Snapshot.objects.filter(pk__in=key_list(queued.refused)):
        session.out.warn(
            f"{page.url} is {page.status}{' and at work' if page.owner else ''}: nothing was queued for it."
        )
    results = ArchiveResult.objects.filter(pk__in=key_list(queued.results)).select_related("snapshot")
    for part in pages(results):
        print_changed(session.out, RESULTS, part)
    session.out.say(f"{counted(len(queued.results), 'result')} of {counted(len(chosen), 'page')} queued.")
    code = REFUSED if queued.refused else 0
    if run and queued.results:
        return watch(session, Watched(set(results.values_list("snapshot__crawl_id", flat=True)))) or code
    return code


def update(session: Session, *, ids: tuple[str, ...], every: bool, status: str | None) -> int:
    if status is None:
        raise BadInputError("Say what to change: --status queued has results run again.")
    rows = select_rows(session.out, ArchiveResult, ARCHIVERESULT, every=every, ids=ids)
    keys = list(rows.values_list("pk", flat=True))
    results = ArchiveResult.objects.filter(pk__in=key_list(keys)).select_related("snapshot")
    count = retry_results(results)
    for part in pages(results):
        print_changed(session.out, RESULTS, part)
    session.out.say(f"{counted(count, 'result')} of {len(keys):,} run again; `archivebox run` does it now.")
    return 0
