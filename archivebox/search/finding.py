"""Owns finding Snapshots by words: in title, URL and tags, which are rows, and in their texts, which are files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Q

from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.search.backend import Hit, chosen_backend
from archivebox.search.excerpts import excerpt_of

MOST_HITS = 1_000
"""Texts that an engine is asked for; there may be more, which is no use to people."""
SHOWN_OF_A_PAGE = 3
"""Texts of one Snapshot that are shown."""


@dataclass(frozen=True, slots=True)
class Match:
    """Where in a Snapshot the words are: ``title``, ``url`` or ``tags``, or the file of a plugin; and what is there."""

    where: str
    snippet: str


@dataclass(slots=True)
class Found:
    """A Snapshot that has all the words."""

    snapshot: Snapshot
    matches: list[Match] = field(default_factory=list)


def matching(rows: SnapshotQuerySet, words: Sequence[str], hits: Mapping[UUID, list[Hit]]) -> SnapshotQuerySet:
    """Those of ``rows`` that are called so, and those that have ``hits``."""
    return rows.filter(_called(words) | Q(pk__in=list(hits)))


def _called(words: Sequence[str]) -> Q:
    """Every word is in title, URL or tags, in whatever case."""
    return Q(*map(_has, words))


def _has(word: str) -> Q:
    bare = word.rstrip("*")
    tagged = Snapshot.tags.through.objects.filter(tag__name__icontains=bare).values("snapshot_id")
    return Q(title__icontains=bare) | Q(url__icontains=bare) | Q(pk__in=tagged)


def hits_of(words: Sequence[str]) -> dict[UUID, list[Hit]]:
    """Snapshot key → its texts that have every word, the best first. SearchUnavailableError."""
    backend = chosen_backend() if words else None
    hits: dict[UUID, list[Hit]] = {}
    for hit in backend.query(words, MOST_HITS) if backend is not None else []:
        hits.setdefault(hit.snapshot, []).append(hit)
    return hits


def find(rows: SnapshotQuerySet, words: Sequence[str], hits: Mapping[UUID, list[Hit]], limit: int) -> list[Found]:
    """At most ``limit`` of ``rows``: those that are called so, the newest first, then those whose texts say so."""
    called = [Found(one, _facts(one, words)) for one in rows.filter(_called(words)).order_by("-id")[:limit]]
    known = {one.snapshot.pk for one in called}
    others = {one.pk: one for one in rows.filter(pk__in=[key for key in hits if key not in known])}
    said = [Found(others[key]) for key in hits if key in others][: limit - len(called)]
    for one in called + said:
        one.matches += [_match(one.snapshot, hit, words) for hit in hits.get(one.snapshot.pk, [])[:SHOWN_OF_A_PAGE]]
    return called + said


def _facts(snapshot: Snapshot, words: Sequence[str]) -> list[Match]:
    tags = ", ".join(tag.name for tag in snapshot.tags.all())
    facts = {"title": snapshot.title, "url": snapshot.url, "tags": tags}
    return [Match(name, text) for name, text in facts.items() if any(_is_in(word, text) for word in words)]


def _is_in(word: str, text: str) -> bool:
    return word.rstrip("*").casefold() in text.casefold()


def _match(snapshot: Snapshot, hit: Hit, words: Sequence[str]) -> Match:
    return Match(f"{hit.plugin}/{hit.file}", excerpt_of(snapshot.path / hit.plugin / hit.file, words))
