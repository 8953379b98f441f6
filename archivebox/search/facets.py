"""Owns what a collection can be narrowed by: terms of the query language, counted only as far as that is cheap."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from uuid import UUID

from django.db.models import Count

from archivebox.base_models.visibility import Sight, seen_by
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.core.tag import Tag
from archivebox.search.query import select
from archivebox.search.query.keys import TYPES
from archivebox.search.query.values import distinct_values

COUNTED = 1_000
"""Pages of one choice that are counted; of more it is only said that there are more."""
OF_LATE = 1_000
"""Newest pages among which the most frequent hosts and tags are looked for."""
MEDIA_TYPES = 200
"""Media types that are looked at."""
CHOICES = 8
"""Choices of one facet that are offered at most."""
NAMES = {"pdf": "PDF"}
OFFERED_STATES = ("open", "failed", "paused")

Term = tuple[str, str]
"""What to call it, and the query for it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to narrow: what to call it, the query for it, and how many pages it has (beyond COUNTED: more)."""

    label: str
    query: str
    count: int


@dataclass(frozen=True, slots=True)
class Facet:
    """Choices of one kind. ``keys``: how their terms begin, of which a query has one at a time; empty: any number."""

    title: str
    choices: tuple[Choice, ...]
    keys: tuple[str, ...] = ()


def facets(sight: Sight) -> list[Facet]:
    """Those with something to choose, of what is seen. Some twenty small queries: keep the answer for a while."""
    kinds: tuple[tuple[str, Iterator[Term], tuple[str, ...]], ...] = (
        ("State", ((state.capitalize(), f"is:{state}") for state in OFFERED_STATES), ("is:",)),
        ("Type", ((NAMES.get(name, name.capitalize()), f"type:{name}") for name in _types(sight)), ("type:",)),
        ("Tags", ((name, f"#{quoted(name)}") for name in _tags(sight)), ()),
        ("Hosts", ((name, f"host:{name}") for name in _hosts(sight)), ("host:",)),
        ("Years", ((str(y), f"after:{y} before:{y + 1}") for y in _years(sight)), ("after:", "before:")),
    )
    found = (Facet(title, _counted(terms, sight), keys) for title, terms, keys in kinds)
    return [facet for facet in found if facet.choices]


def quoted(value: str) -> str:
    return f'"{value}"' if any(sign in value for sign in ' ()"') else value


def count_of(query: str, sight: Sight) -> int:
    """How many pages that are seen a query means; more than COUNTED: there are more than that.

    In the order of lists, which indexes are made for: without one SQLite took that of a crawl's states, and read all.
    """
    return select(query, sight).order_by("-pk")[: COUNTED + 1].count()


def _counted(terms: Iterator[Term], sight: Sight) -> tuple[Choice, ...]:
    counted = (Choice(label, query, count_of(query, sight)) for label, query in terms)
    return tuple(choice for choice in counted if choice.count)


def _of_late(sight: Sight) -> SnapshotQuerySet:
    newest = seen_by(sight, Snapshot.objects.in_library()).order_by("-pk").values("pk")[:OF_LATE]
    rows: SnapshotQuerySet = Snapshot.objects.filter(pk__in=newest)
    return rows


def _hosts(sight: Sight) -> Iterator[str]:
    often = _of_late(sight).values("domain").annotate(pages=Count("pk")).order_by("-pages", "domain")
    for domain in often.values_list("domain", flat=True)[:CHOICES]:
        yield domain.replace("_", ":")


def _tags(sight: Sight) -> Iterator[str]:
    often = Tag.objects.filter(snapshot_set__in=_of_late(sight)).annotate(pages=Count("pk")).order_by("-pages", "name")
    for tag in often[:CHOICES]:
        yield tag.name


def _types(sight: Sight) -> Iterator[str]:
    """Those that are there: to look for one that is not takes a look at every page."""
    there = list(islice(distinct_values("mime_type", "", sight), MEDIA_TYPES))
    for name, begins in TYPES.items():
        if any(mimetype.startswith(begins) for mimetype in there):
            yield name


def _years(sight: Sight) -> Iterator[int]:
    keys = seen_by(sight, Snapshot.objects.kept()).order_by("pk").values_list("pk", flat=True)
    first, last = keys.first(), keys.last()
    if first and last:
        yield from sorted(range(_made(first).year, _made(last).year + 1), reverse=True)[:CHOICES]


def _made(key: UUID) -> datetime:
    """When a row with this key was made (UUIDv7: milliseconds first)."""
    return datetime.fromtimestamp((key.int >> 80) / 1000, UTC)
