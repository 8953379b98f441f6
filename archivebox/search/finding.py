"""Owns what is found first, and where in a Snapshot: in title, URL and tags, or in its texts, which are files."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from django.db.models import prefetch_related_objects

from archivebox.base_models.paging import NEWEST, Order, Page, Place, page_near, page_of
from archivebox.core.snapshot import Snapshot
from archivebox.search.backend import Hit
from archivebox.search.excerpts import excerpt_of
from archivebox.search.query.conditions import called
from archivebox.search.query.selection import Selection

SHOWN_OF_A_PAGE = 3
"""Texts of one Snapshot that are shown."""


@dataclass(frozen=True, slots=True)
class Match:
    """Where in a Snapshot the words are: ``title``, ``url`` or ``tags``, or the file of a plugin; and what is there."""

    where: str
    snippet: str


@dataclass(slots=True)
class Found:
    """A Snapshot that a query means."""

    snapshot: Snapshot
    matches: list[Match] = field(default_factory=list)


def find(selection: Selection, limit: int) -> list[Found]:
    """At most ``limit``: those that are called so, the newest first, then those whose texts say so, the best first.

    Last of all those that are meant for something else than words.
    """
    if not selection.words:
        listed = page_found(selection, Place(), limit).rows
        prefetch_related_objects(listed, "tags")
        return [Found(one) for one in listed]
    rows, words, hits = selection.rows.prefetch_related("tags"), selection.words, selection.hits
    found = {one.pk: Found(one, _facts(one, words)) for one in rows.filter(called(words)).order_by("-id")[:limit]}
    others = {one.pk: one for one in rows.filter(pk__in=[key for key in hits if key not in found])}
    found |= {key: Found(others[key]) for key in hits if key in others}
    if len(found) < limit:
        found |= {one.pk: Found(one) for one in rows.exclude(pk__in=list(found)).order_by("-id")[:limit]}
    shown = list(found.values())[:limit]
    for one in shown:
        one.matches += [_match(one.snapshot, hit, words) for hit in hits.get(one.snapshot.pk, [])[:SHOWN_OF_A_PAGE]]
    return shown


def page_found(selection: Selection, place: Place, size: int, order: Order = NEWEST) -> Page[Snapshot]:
    """A page of the list; its rows are read by key, which indexes find without them. PlaceGoneError."""
    page = _keys(selection, place, size, order)
    rows = Snapshot.objects.in_bulk([row.pk for row in page.rows])
    return replace(page, rows=[rows[row.pk] for row in page.rows if row.pk in rows])


def newest_keys(selection: Selection, most: int) -> list[UUID]:
    """The keys of the newest, a page of them; of thousands it is quicker to ask for all at once."""
    return [row.pk for row in _keys(selection, Place(), most, NEWEST).rows]


def _keys(selection: Selection, place: Place, size: int, order: Order) -> Page[Snapshot]:
    """The page in rows of which nothing but the key is read."""
    if order.column or not selection.has_lists:
        return page_of(selection.rows.only("pk"), place, size, order)
    ahead = selection.ahead(place, order)
    return page_near(ahead, lambda *bounds: selection.within(*bounds).only("pk"), place, size, order)


def _facts(snapshot: Snapshot, words: Sequence[str]) -> list[Match]:
    tags = ", ".join(tag.name for tag in snapshot.tags.all())
    facts = {"title": snapshot.title, "url": snapshot.url, "tags": tags}
    return [Match(name, text) for name, text in facts.items() if any(_is_in(word, text) for word in words)]


def _is_in(word: str, text: str) -> bool:
    return word.rstrip("*").casefold() in text.casefold()


def _match(snapshot: Snapshot, hit: Hit, words: Sequence[str]) -> Match:
    return Match(f"{hit.plugin}/{hit.file}", excerpt_of(snapshot.path / hit.plugin / hit.file, words))
