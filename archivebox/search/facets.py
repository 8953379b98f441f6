"""Owns what a collection can be narrowed by: terms of the query language, counted only as far as that is cheap."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Count, Q

from archivebox.base_models.keylist import key_list
from archivebox.base_models.literal import Literal
from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.core.tag import Tag
from archivebox.search.query import Selection, select
from archivebox.search.query.conditions import distinct_values
from archivebox.search.query.keys import TYPES, shown_host
from archivebox.search.query.parser import Every

COUNTED = 1_000
"""Pages of one choice that are counted; of more it is only said that there are more."""
OF_LATE = 1_000
"""Newest pages among which the most frequent hosts and tags are looked for."""
MEDIA_TYPES = 200
"""Media types that are looked at."""
CHOICES = 8
"""Choices of one facet that are offered at most."""
NAMES = {"pdf": "PDF"}
OFFERED_STATES = {"open": "In progress", "failed": "Failed", "paused": "Paused", "lossy": "Partly saved"}
"""State → what to call it."""
MOST_EXACT = 10_000
"""Pages that a query finds which are all counted: 40 ms. Of more, the newest of these."""
_YEAR_KEYS = ("after:", "before:")

Term = tuple[str, str]
"""What to call it, and the query for it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to narrow: what to call it, the query for it, and how many pages it has (beyond ``counted``: more)."""

    label: str
    query: str
    count: int
    counted: int = COUNTED


@dataclass(frozen=True, slots=True)
class Facet:
    """Choices of one kind. ``keys``: how their terms begin, of which a query has one at a time; empty: any number."""

    title: str
    choices: tuple[Choice, ...]
    keys: tuple[str, ...] = ()


def facets(selection: Selection) -> list[Facet]:
    """Those with something to choose, of what a query finds: counted exactly among at most MOST_EXACT pages.

    Of a search that finds more, among the newest of these; of a larger library, each choice by some small queries,
    whose answer is worth keeping for a while.
    """
    found, is_all = _columns(selection)
    if not is_all and selection.tree == Every():
        return _of_all(selection.known.scope)
    return _of_columns(found, is_all=is_all)


def _of_all(scope: ViewerScope) -> list[Facet]:
    kinds: tuple[tuple[str, Iterator[Term], tuple[str, ...]], ...] = (
        ("State", ((label, f"is:{state}") for state, label in OFFERED_STATES.items()), ("is:",)),
        ("Type", ((_type_label(name), f"type:{name}") for name in _types(scope)), ("type:",)),
        ("Tags", ((name, f"#{quoted(name)}") for name in frequent_tags(scope)), ()),
        ("Hosts", ((name, f"host:{name}") for name in _hosts(scope)), ("host:",)),
        ("Years", ((str(y), _year_query(y)) for y in _years(scope)), _YEAR_KEYS),
    )
    found = (Facet(title, _counted(terms, scope), keys) for title, terms, keys in kinds)
    return [facet for facet in found if facet.choices]


def _of_columns(found: "_FacetColumns", *, is_all: bool) -> list[Facet]:
    states, types, hosts, years = Counter[str](), Counter[str](), Counter[str](), Counter[int]()
    for status, count in Counter(found.statuses).items():
        states["open" if status in ("queued", "started") else status] += count
    for mimetype, count in Counter(found.mime_types).items():
        types.update({name: count for name, begins in TYPES.items() if mimetype.startswith(begins)})
    for domain, count in Counter(found.domains).items():
        hosts[shown_host(domain)] += count
    for digits, count in Counter(str(key).replace("-", "")[:8] for key in found.keys).items():
        years[_year_of(digits)] += count
    among = Q(snapshot_id__in=key_list(found.keys))
    failures = ArchiveResult.objects.filter(among, status=Literal("failed"))
    states["lossy"] = sum(map(bool, found.are_lossy))
    states["failed"] = failures.values("snapshot_id").distinct().count()
    taggings = Snapshot.tags.through.objects.filter(among).values_list("tag__name").annotate(n=Count("pk"))
    tags = Counter(dict(taggings.order_by()))
    counted: tuple[tuple[str, list[tuple[str, str, int]], tuple[str, ...]], ...] = (
        ("State", [(label, f"is:{state}", states[state]) for state, label in OFFERED_STATES.items()], ("is:",)),
        ("Type", [(_type_label(name), f"type:{name}", types[name]) for name in TYPES], ("type:",)),
        ("Tags", [(name, f"#{quoted(name)}", count) for name, count in _frequent(tags)], ()),
        ("Hosts", [(name, f"host:{name}", count) for name, count in _frequent(hosts)], ("host:",)),
        ("Years", [(str(y), _year_query(y), years[y]) for y in sorted(years, reverse=True)[:CHOICES]], _YEAR_KEYS),
    )
    made = [
        Facet(title, tuple(_choice(*one, is_all=is_all) for one in choices if one[2]), keys)
        for title, choices, keys in counted
    ]
    return [facet for facet in made if facet.choices]


_COLUMNS = ("pk", "mime_type", "domain", "status", "is_lossy")


class _FacetColumns(NamedTuple):
    """What facets are counted by, a value for each page; ``keys`` as the driver gives them."""

    keys: Sequence[Any] = ()
    mime_types: Sequence[str] = ()
    domains: Sequence[str] = ()
    statuses: Sequence[str] = ()
    are_lossy: Sequence[bool | None] = ()


def _columns(selection: Selection) -> tuple[_FacetColumns, bool]:
    """Those of the newest MOST_EXACT that were found, and whether these are all.

    Asked of the driver itself: an object for each of 10,000 pages takes as long as all else.
    """
    rows = selection.rows.order_by("-pk").values_list(*_COLUMNS)[: MOST_EXACT + 1]
    try:
        sql, params = rows.query.sql_with_params()
    except EmptyResultSet:
        return _FacetColumns(), True
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        found = cursor.fetchall()
    return _FacetColumns(*zip(*found[:MOST_EXACT], strict=True)), len(found) <= MOST_EXACT


@cache
def _year_of(digits: str) -> int:
    """The year in the first half of a UUIDv7's 48 bits of milliseconds; it changes every 65 seconds."""
    return datetime.fromtimestamp((int(digits, 16) << 16) / 1000, UTC).year


def _frequent(counts: "Counter[str]") -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:CHOICES]


def _choice(label: str, query: str, count: int, *, is_all: bool) -> Choice:
    return Choice(label, query, count, MOST_EXACT) if is_all else Choice(label, query, count + 1, count)


def _type_label(name: str) -> str:
    return NAMES.get(name, name.capitalize())


def _year_query(year: int) -> str:
    return f"after:{year} before:{year + 1}"


def quoted(value: str) -> str:
    return f'"{value}"' if any(sign in value for sign in ' ()"') else value


def count_of(query: str, scope: ViewerScope) -> int:
    """How many pages that are seen a query means; more than COUNTED: there are more than that.

    In the order of lists, which indexes are made for: without one SQLite took that of a crawl's states, and read all.
    """
    return select(query, scope).order_by("-pk")[: COUNTED + 1].count()


def _counted(terms: Iterator[Term], scope: ViewerScope) -> tuple[Choice, ...]:
    counted = (Choice(label, query, count_of(query, scope)) for label, query in terms)
    return tuple(choice for choice in counted if choice.count)


def _of_late(scope: ViewerScope) -> SnapshotQuerySet:
    newest = seen_by(scope, Snapshot.objects.in_library()).order_by("-pk").values("pk")[:OF_LATE]
    rows: SnapshotQuerySet = Snapshot.objects.filter(pk__in=newest)
    return rows


def _hosts(scope: ViewerScope) -> Iterator[str]:
    often = _of_late(scope).values("domain").annotate(pages=Count("pk")).order_by("-pages", "domain")
    for domain in often.values_list("domain", flat=True)[:CHOICES]:
        yield domain.replace("_", ":")


def frequent_tags(scope: ViewerScope, most: int = CHOICES) -> list[str]:
    """The names of the most frequent among the newest pages that are seen."""
    often = Tag.objects.filter(snapshot_set__in=_of_late(scope)).annotate(pages=Count("pk")).order_by("-pages", "name")
    return [tag.name for tag in often[:most]]


def _types(scope: ViewerScope) -> Iterator[str]:
    """Those that are there: to look for one that is not takes a look at every page."""
    there = list(islice(distinct_values("mime_type", "", scope), MEDIA_TYPES))
    for name, begins in TYPES.items():
        if any(mimetype.startswith(begins) for mimetype in there):
            yield name


def _years(scope: ViewerScope) -> Iterator[int]:
    keys = seen_by(scope, Snapshot.objects.kept()).order_by("pk").values_list("pk", flat=True)
    first, last = keys.first(), keys.last()
    if first and last:
        yield from sorted(range(_made(first).year, _made(last).year + 1), reverse=True)[:CHOICES]


def _made(key: UUID) -> datetime:
    """When a row with this key was made (UUIDv7: milliseconds first)."""
    return datetime.fromtimestamp((key.int >> 80) / 1000, UTC)
