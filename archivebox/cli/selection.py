"""Owns which Snapshots a command changes: those of its options, of the records on stdin, or all if that is said."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from archivebox.base_models.keylist import key_list
from archivebox.base_models.rows import Row
from archivebox.cli import stdin
from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Output, counted
from archivebox.cli.select import is_chosen, snapshots
from archivebox.cli.stdin import STDIN, StdinRecord
from archivebox.core.models import Snapshot
from archivebox.core.snapshot import SnapshotQuerySet
from archivebox.crawls.models import Crawl
from archivebox.lib.batches import batches
from archivebox.lib.urls import BadUrl, parse_url

NOTHING_SAID = (
    "Say which pages: by a query, ids or URLs (--help lists what chooses); by records on stdin, such as "
    "`archivebox list` prints in a pipe; or --all."
)
URLS_AT_ONCE = 500


class Selected(NamedTuple):
    """The Snapshots that a command is to change."""

    rows: SnapshotQuerySet
    by_records: bool


def select_snapshots(
    out: Output, *, every: bool, all_at_terminal: bool, which: tuple[str, ...], retired: bool = False, **options: Any
) -> Selected:
    """What was selected; BadInputError where nothing says which."""
    options["which"] = tuple(text for text in which if text != STDIN)
    rows = snapshots(**options, retired=retired)
    if reads_stdin(every=every, dash=STDIN in which, chosen=is_chosen(options), all_at_terminal=all_at_terminal):
        return Selected(rows.filter(pk__in=key_list(read_keys_from_stdin(out))), by_records=True)
    return Selected(rows, by_records=False)


def reads_stdin(*, every: bool, dash: bool, chosen: bool, all_at_terminal: bool) -> bool:
    """Whether the records on stdin are the selection; BadInputError where nothing is, or --all contradicts it.

    ``chosen``: whether options or arguments choose, which then do not wait for a pipe that nobody may close.
    """
    if every and (dash or chosen):
        raise BadInputError("--all takes every page: leave out either that, or what chooses among them.")
    if every or (chosen and not dash):
        return False
    if dash or stdin.is_selection():
        return True
    if all_at_terminal and stdin.is_terminal():
        return False
    raise BadInputError(NOTHING_SAID)


def read_keys_from_stdin(out: Output) -> set[UUID]:
    """The Snapshots that the records name, by id, URL or Crawl, removed ones too."""
    pages, crawls, others = by_type(stdin.read_records(out))
    keys = require_ids(Snapshot, pages) | _of_urls([record for record in pages if record.key is None])
    wanted = require_ids(Crawl, crawls, must_have_id=True)
    keys.update(Snapshot.objects.filter(crawl__in=key_list(wanted)).values_list("pk", flat=True))
    tell_left_out(out, others)
    if not keys:
        out.say("No record on stdin names a page, so none is chosen.")
    return keys


def by_type(records: Iterable[StdinRecord]) -> tuple[list[StdinRecord], list[StdinRecord], list[StdinRecord]]:
    """Those of Snapshots, those of Crawls, and all others."""
    found: dict[str, list[StdinRecord]] = {"Snapshot": [], "Crawl": []}
    others: list[StdinRecord] = []
    for record in records:
        found.get(record.type, others).append(record)
    return found["Snapshot"], found["Crawl"], others


def require_ids(model: type[Row], records: Sequence[StdinRecord], *, must_have_id: bool = False) -> set[UUID]:
    """The ids of these records, all of which are there; BadInputError names the first that is not."""
    lines = {record.key: record for record in records}
    nameless = lines.pop(None, None)
    if nameless and must_have_id:
        raise nameless.refusal(f"this {nameless.type} has no id")
    keys = {key for key in lines if key is not None}
    there = set(model._default_manager.filter(pk__in=key_list(keys)).values_list("pk", flat=True))
    for key, record in lines.items():
        if key not in there:
            raise record.refusal(f"there is no {model._meta.verbose_name} {key}")
    return keys


def _of_urls(records: Sequence[StdinRecord]) -> set[UUID]:
    """Every version of the URLs of these records; BadInputError names the first of which there is none."""
    keys: set[UUID] = set()
    for batch in batches(records, URLS_AT_ONCE):
        urls = {_href(record): record for record in batch}
        found = dict(Snapshot.objects.filter(url__in=list(urls)).values_list("pk", "url"))
        for url in urls.keys() - set(found.values()):
            raise urls[url].refusal(f"there is no snapshot of {url}")
        keys.update(found)
    return keys


def _href(record: StdinRecord) -> str:
    try:
        return parse_url(str(record.fields.get("url") or "")).href
    except BadUrl as error:
        raise record.refusal(f"its url is none: {error}") from None


def tell_left_out(out: Output, records: Sequence[StdinRecord]) -> None:
    """Say which records choose nothing, such as a Summary."""
    for kind, number in Counter(record.type for record in records).items():
        out.warn(f"Left out of the selection: {counted(number, 'record')} of type {kind[:100]}.")
