"""Which rows a command works on: those of its arguments, of the records on stdin, or all if that is said.

An empty pipe selects nothing.
"""

import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from select import select as wait_until_readable
from typing import NamedTuple
from uuid import UUID

from django.db.models import Q, QuerySet

from archivebox.base_models.keylist import key_list
from archivebox.base_models.rows import Row
from archivebox.base_models.visibility import EVERYTHING
from archivebox.cli.conditions import KEY_STEP, Model, condition_of, find, href, moment
from archivebox.cli.errors import BadInputError
from archivebox.cli.fields import SNAPSHOT, RowField
from archivebox.cli.output import Output, counted
from archivebox.contract.records import MAX_LINE, parse_line
from archivebox.core.models import ArchiveResult, Snapshot, Tag
from archivebox.core.snapshot import SnapshotQuerySet
from archivebox.crawls.models import Crawl
from archivebox.lib.batches import batches
from archivebox.lib.jsonl import JSON
from archivebox.lib.patterns import compile_patterns
from archivebox.lib.urls import BadUrl, parse_url
from archivebox.search.backend import SearchUnavailableError
from archivebox.search.query import QueryError, times
from archivebox.search.query import select as select_pages

STDIN = "-"
"""The argument that forces reading, whatever stdin is."""
MOST_RECORDS = 1_000_000
NEW_CRAWL = frozenset({"tags_str", "label", "persona", "config", "max_depth"})
"""Fields of a Crawl that `add` has options for."""
SILENCE = 3.0
"""Seconds after which it is said that records are waited for: who holds a pipe open may not know that it is read."""


@dataclass(frozen=True, slots=True)
class StdinRecord:
    """A record, and the number of its line."""

    line: int
    type: str
    fields: dict[str, JSON]

    @property
    def key(self) -> UUID | None:
        """Its id; None where it has none. BadInputError where that is no id."""
        text = self.fields.get("id")
        if text is None:
            return None
        try:
            return UUID(str(text))
        except ValueError:
            raise self.refusal(f"{str(text)[:100]!r} is not an id") from None

    @property
    def urls(self) -> list[str]:
        """Those of a Crawl that is not here yet; BadInputError for what else it says and would be dropped."""
        for name in NEW_CRAWL & {name for name, value in self.fields.items() if value}:
            raise self.refusal(f"{name} of a new Crawl is not taken: `archivebox add --help` names the option")
        return str(self.fields.get("urls") or "").split()

    def refusal(self, why: str) -> BadInputError:
        return BadInputError(f"stdin, line {self.line}: {why}. Nothing was done.")


def is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def is_selection() -> bool:
    """Whether stdin is a pipe or a regular file. The descriptor of a closed one may be that of any file by now."""
    if sys.stdin is None:
        return False
    mode = os.fstat(sys.stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def read_records(out: Output, *, urls: bool = False) -> list[StdinRecord]:
    """Read all records from stdin until it is closed; BadInputError for a line that is not a record.

    ``urls``: a line with a URL counts as the record of a page.
    """
    if sys.stdin is None:
        raise BadInputError("stdin is closed, so no record can be read from it. Nothing was done.")
    if not wait_until_readable([sys.stdin.buffer], [], [], SILENCE)[0]:
        out.warn("Waiting for records on stdin. To run without records, start this command with </dev/null.")
    return list(_records(urls=urls))


def _records(*, urls: bool) -> Iterator[StdinRecord]:
    number = 0
    while line := sys.stdin.buffer.readline(MAX_LINE + 1):
        number += 1
        if number > MOST_RECORDS:
            raise BadInputError(f"stdin has more than {MOST_RECORDS:,} lines: give a query instead. Nothing was done.")
        if not line.strip():
            continue
        record = parse_line(line)
        if record is None and urls and not line.lstrip().startswith(b"{"):
            yield StdinRecord(number, "Snapshot", {"url": line.decode("utf-8", "replace").strip()})
            continue
        if record is None:
            raise BadInputError(
                f"stdin, line {number} is not a JSON record with a type, such as `archivebox list` prints in a pipe. "
                "Nothing was done."
            )
        yield StdinRecord(number, record.type, record.fields)


NOTHING_ASKED: Mapping[str, str] = {}


def find_snapshot(text: str) -> Snapshot:
    """By id, or the latest version of a URL."""
    if "://" not in text:
        return find(Snapshot, text)
    latest = Snapshot.objects.of_url(href(text)).first()
    if latest is None:
        raise BadInputError(f"There is no snapshot of {text}. `archivebox add {text}` makes one.")
    found: Snapshot = latest
    return found


def is_chosen(which: tuple[str, ...], where: Mapping[str, str]) -> bool:
    """Whether anything was said about which rows are meant."""
    return bool(which) or any(where.values())


def snapshots(
    *,
    which: tuple[str, ...] = (),
    where: Mapping[str, str] = NOTHING_ASKED,
    filter_type: str | None = None,
    retired: bool = False,
) -> SnapshotQuerySet:
    """The Snapshots that all of these speak of."""
    rows: SnapshotQuerySet = Snapshot.objects.filter(retired_at__isnull=not retired)
    if query := where.get("query"):
        rows = of_query(query, among=rows)
    if which:
        rows = rows.filter(
            _named(which, retired=retired) if filter_type in (None, "exact") else like(filter_type, which)
        )
    for name, condition in _OWN.items():
        if text := where.get(name):
            rows = rows.filter(condition(text))
    return rows.filter(condition_of(Snapshot, SNAPSHOT, where))


def of_query(query: str, *, among: SnapshotQuerySet | None = None) -> SnapshotQuerySet:
    """All Snapshots that a query means; BadInputError says where it is none, or why its texts cannot be searched."""
    try:
        return select_pages(query, EVERYTHING, among=among, every=True)
    except QueryError as error:
        raise BadInputError(pointed_at(query, error)) from None
    except SearchUnavailableError as error:
        raise BadInputError(str(error)) from None


def pointed_at(query: str, error: QueryError) -> str:
    """What is wrong with a query, and where."""
    rest = query[error.position :]
    return f"{error.sentence} It is at {rest!r}." if rest else error.sentence


def like(kind: str, patterns: tuple[str, ...]) -> Q:
    """Snapshots that one of these patterns means, of a kind as ``--filter-type`` names it."""
    chosen = Q(pk__in=[])
    for text in patterns:
        chosen |= _LIKE[kind](text)
    return chosen


def _url_has(text: str) -> Q:
    return Q(url__icontains=text)


def _with_tag(text: str) -> Q:
    return Q(pk__in=Snapshot.tags.through.objects.filter(tag__name__iexact=text).values("snapshot_id"))


def _url_matches(text: str) -> Q:
    """By RE2, whose searches take time in proportion to the text alone; no database has it."""
    try:
        patterns = compile_patterns(text)
    except ValueError as error:
        raise BadInputError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from None
    rows = Snapshot.objects.values_list("pk", "url").iterator()
    return Q(pk__in=key_list([pk for pk, url in rows if any(pattern.search(url) for pattern in patterns)]))


def _of_timestamp(text: str) -> Q:
    """Dated or added in this second, or in this fraction of it."""
    since = moment(text)
    until = since + (KEY_STEP if "." in text else timedelta(seconds=1))
    dated = Q(bookmarked_at__gte=since, bookmarked_at__lt=until)
    return dated | Q(bookmarked_at__isnull=True, pk__gte=times.floor_of(since), pk__lt=times.floor_of(until))


def _named(which: tuple[str, ...], *, retired: bool) -> Q:
    """By URL, every version; by id, that one."""
    chosen = Q()
    for text in which:
        if "://" not in text:
            chosen |= Q(pk=find(Snapshot, text).pk)
            continue
        url = href(text)
        if not Snapshot.objects.filter(url=url, retired_at__isnull=not retired).exists():
            raise BadInputError(f"There is no {'removed ' if retired else ''}snapshot of {url}.")
        chosen |= Q(url=url)
    return chosen


def _of_host(text: str) -> Q:
    """Of this host and port; without a port, of every port of it."""
    domain = text.lower().replace(":", "_")
    if re.search(r"_[0-9]+$", domain):
        return Q(domain=domain)
    return Q(domain=domain) | Q(domain__startswith=f"{domain}_", domain__regex="_[0-9]+$")


_OWN: dict[str, Callable[[str], Q]] = {
    "tag": lambda text: Q(tags__name__iexact=text),
    "domain": _of_host,
    "before": lambda text: Q(pk__lt=times.floor_of(moment(text))),
    "after": lambda text: Q(pk__gte=times.floor_of(moment(text))),
}
"""The conditions of the fields of kind OWN; `snapshots` itself reads ``query``."""
_LIKE: dict[str, Callable[[str], Q]] = {
    "substring": _url_has,
    "domain": _of_host,
    "regex": _url_matches,
    "tag": _with_tag,
    "timestamp": _of_timestamp,
}
"""How arguments are understood, beside whole URLs and ids."""


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
    fields: Sequence[RowField],
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
        own, others = divided(read_records(out), model.__name__)
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
    if dash or is_selection():
        return True
    if all_at_terminal and is_terminal():
        return False
    raise BadInputError(NOTHING_SAID.format(*said))


def read_keys_from_stdin(out: Output, *, removes: bool = False, passes: bool = False) -> set[UUID]:
    """The Snapshots that the records name, by id, URL or Crawl, removed ones too; by Tag and result unless they go."""
    keys, others = keys_of_pages(read_records(out), widely=not removes)
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
