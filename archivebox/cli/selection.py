"""Owns which rows a command works on: those of its options, of the records on stdin, or all if that is said."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from archivebox.base_models.keylist import key_list
from archivebox.base_models.rows import Row
from archivebox.cli import stdin
from archivebox.cli.conditions import condition_of
from archivebox.cli.errors import BadInputError
from archivebox.cli.fields import Field
from archivebox.cli.output import Output, counted
from archivebox.cli.select import NOTHING_ASKED, is_chosen, snapshots
from archivebox.cli.stdin import STDIN, StdinRecord
from archivebox.cli.values import Model, find
from archivebox.core.models import ArchiveResult, Snapshot, Tag
from archivebox.core.snapshot import SnapshotQuerySet
from archivebox.crawls.models import Crawl
from archivebox.lib.batches import batches
from archivebox.lib.urls import BadUrl, parse_url

NOTHING_SAID = "Say which {}: by {}; by records on stdin, such as {} prints in a pipe; or --all."
OF_PAGES = ("pages", "a query, ids or URLs (--help lists what chooses)", "`archivebox list`")
URLS_PER_QUERY = 500


class Selected(NamedTuple):
    """The Snapshots that a command is to change."""

    rows: SnapshotQuerySet
    by_records: bool


def select_snapshots(
    out: Output,
    *,
    every: bool,
    all_at_terminal: bool,
    which: tuple[str, ...],
    where: Mapping[str, str] = NOTHING_ASKED,
    filter_type: str | None = None,
    retired: bool = False,
    removes: bool = False,
    passes: bool = False,
) -> Selected:
    """What was selected; BadInputError where nothing says which.

    ``removes``: only records of pages and crawls choose. ``passes``: other records are printed as they came.
    """
    named = tuple(text for text in which if text != STDIN)
    rows = snapshots(which=named, where=where, filter_type=filter_type, retired=retired)
    chosen = is_chosen(named, where)
    if reads_stdin(every=every, dash=STDIN in which, chosen=chosen, all_at_terminal=all_at_terminal):
        keys = read_keys_from_stdin(out, removes=removes, passes=passes)
        return Selected(rows.filter(pk__in=key_list(keys)), by_records=True)
    return Selected(rows, by_records=False)


def select_rows(
    out: Output,
    model: type[Model],
    fields: Sequence[Field],
    *,
    every: bool,
    ids: tuple[str, ...],
    where: Mapping[str, str] = NOTHING_ASKED,
) -> "QuerySet[Model]":
    """Rows of another model that were selected; BadInputError where nothing says which, or an id is none.

    Records of other types on stdin are printed as they came.
    """
    noun = str(model._meta.verbose_name)
    known, name_too = tuple(text for text in ids if text != STDIN), model is Tag
    keys = {(named(text) if name_too else find(model, text)).pk for text in known}
    rows = model._default_manager.filter(condition_of(model, fields, where))
    said = (
        str(model._meta.verbose_name_plural),
        "names or options" if name_too else "ids or options",
        f"`archivebox {noun.replace(' ', '')} list`",
    )
    if reads_stdin(every=every, dash=STDIN in ids, chosen=is_chosen(known, where), all_at_terminal=False, said=said):
        own, others = divided(stdin.read_records(out), model.__name__)
        tell_or_pass(out, others, passes=True)
        rows = rows.filter(pk__in=key_list(_tag_keys(own) if name_too else require_ids(model, own, must_have_id=True)))
    return rows.filter(pk__in=key_list(keys)) if keys else rows


def named(text: str) -> Tag:
    """The tag of this name, however it is written; BadInputError where there is none."""
    tag = Tag.objects.filter(slug=Tag.slug_of(text)).first()
    if tag is None:
        raise BadInputError(f"There is no tag {text!r}. `archivebox tag list` shows all tags.")
    return tag


def reads_stdin(
    *, every: bool, dash: bool, chosen: bool, all_at_terminal: bool, said: tuple[str, str, str] = OF_PAGES
) -> bool:
    """Whether the records on stdin are the selection; BadInputError where nothing is, or --all contradicts it.

    ``chosen``: whether options or arguments choose, which then do not wait for a pipe that nobody may close.
    """
    if every and (dash or chosen):
        raise BadInputError("--all selects everything: leave out either --all or the other arguments that select.")
    if every or (chosen and not dash):
        return False
    if dash or stdin.is_selection():
        return True
    if all_at_terminal and stdin.is_terminal():
        return False
    raise BadInputError(NOTHING_SAID.format(*said))


def read_keys_from_stdin(out: Output, *, removes: bool = False, passes: bool = False) -> set[UUID]:
    """The Snapshots that the records name, by id, URL or Crawl, removed ones too; by Tag and result unless they go."""
    keys, others = keys_of_pages(stdin.read_records(out), widely=not removes)
    tell_or_pass(out, others, passes=passes)
    if not keys:
        out.say("No record on stdin names a page, so none is chosen.")
    return keys


def keys_of_pages(records: Iterable[StdinRecord], *, widely: bool) -> tuple[set[UUID], list[StdinRecord]]:
    """The Snapshots that records name, and those that name none. ``widely``: tags and results name pages, too."""
    pages, crawls, others = by_type(records)
    keys = require_ids(Snapshot, pages) | _of_urls([record for record in pages if record.key is None])
    wanted = require_ids(Crawl, crawls, must_have_id=True)
    keys.update(Snapshot.objects.filter(crawl__in=key_list(wanted)).values_list("pk", flat=True))
    if widely:
        tags, others = divided(others, "Tag")
        results, others = divided(others, "ArchiveResult")
        keys.update(Snapshot.objects.filter(tags__in=key_list(_tag_keys(tags))).values_list("pk", flat=True))
        wanted = require_ids(ArchiveResult, results, must_have_id=True)
        keys.update(ArchiveResult.objects.filter(pk__in=key_list(wanted)).values_list("snapshot_id", flat=True))
    return keys, others


def by_type(records: Iterable[StdinRecord]) -> tuple[list[StdinRecord], list[StdinRecord], list[StdinRecord]]:
    """Those of Snapshots, those of Crawls, and all others."""
    pages, rest = divided(records, "Snapshot")
    crawls, others = divided(rest, "Crawl")
    return pages, crawls, others


def divided(records: Iterable[StdinRecord], kind: str) -> tuple[list[StdinRecord], list[StdinRecord]]:
    """Those of one type, and all others."""
    own: list[StdinRecord] = []
    others: list[StdinRecord] = []
    for record in records:
        (own if record.type == kind else others).append(record)
    return own, others


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


def _tag_keys(records: Sequence[StdinRecord]) -> set[UUID]:
    """The keys of tags by id or name, all of which are there; BadInputError names the first that is not."""
    keys = require_ids(Tag, [record for record in records if record.key is not None])
    for record in (one for one in records if one.key is None):
        try:
            keys.add(named(str(record.fields.get("name") or "")).pk)
        except BadInputError as error:
            raise record.refusal(str(error).partition(". ")[0]) from None
    return keys


def _of_urls(records: Sequence[StdinRecord]) -> set[UUID]:
    """Every version of the URLs of these records; BadInputError names the first of which there is none."""
    keys: set[UUID] = set()
    for batch in batches(records, URLS_PER_QUERY):
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
        raise record.refusal(f"its url cannot be used: {error}") from None


def tell_or_pass(out: Output, records: Sequence[StdinRecord], *, passes: bool) -> None:
    """What chooses nothing here: a pipe gets it as it came, for commands behind this one; else it is told of."""
    if passes and not out.is_for_people:
        for record in records:
            out.record({"type": record.type, **record.fields})
    else:
        tell_left_out(out, records)


def tell_left_out(out: Output, records: Sequence[StdinRecord]) -> None:
    """Say which records choose nothing, such as a Summary."""
    for kind, number in Counter(record.type for record in records).items():
        out.warn(f"Left out of the selection: {counted(number, 'record')} of type {kind[:100]}.")
