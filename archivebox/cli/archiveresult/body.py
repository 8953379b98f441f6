"""Owns `archivebox archiveresult list`."""

from collections.abc import Iterator
from typing import Any

from archivebox.base_models.keylist import key_list
from archivebox.cli.fields import ARCHIVERESULT
from archivebox.cli.listing import show_model
from archivebox.cli.output import Column, Record
from archivebox.cli.records import record_of
from archivebox.cli.selection import read_keys_from_stdin
from archivebox.cli.session import Session
from archivebox.cli.stdin import STDIN
from archivebox.cli.values import find_all
from archivebox.core.models import ArchiveResult
from archivebox.lib.quantities import size

COLUMNS = (
    Column("id", "id", wraps=True),
    Column("hook", lambda record: record["hook_name"] or record["plugin"]),
    Column("status", "status"),
    Column("size", lambda record: size(int(str(record["output_size"]))) if record["output_size"] else "", right=True),
    Column("page", "url", wraps=True),
    Column("what", lambda record: record["sentence"] or record["output_str"], wraps=True),
)


def list_(session: Session, *, ids: tuple[str, ...], **given: Any) -> int:
    rows = ArchiveResult.objects.select_related("snapshot").filter(snapshot__retired_at__isnull=True)
    if known := tuple(text for text in ids if text != STDIN):
        rows = rows.filter(pk__in=[row.pk for row in find_all(ArchiveResult, known)])
    if STDIN in ids:
        rows = rows.filter(snapshot__in=key_list(read_keys_from_stdin(session.out)))
    empty = "No result matches."
    return show_model(session.out, COLUMNS, rows, ARCHIVERESULT, given, records=records_of, empty=empty)


def records_of(page: list[ArchiveResult]) -> Iterator[Record]:
    """Each with the URL of its page, and why it is as it is."""
    return (record_of(row, url=row.snapshot.url, sentence=row.sentence, action=row.action) for row in page)
