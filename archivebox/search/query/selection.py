"""Owns the Snapshots that a query selects, and the texts that were found for it."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from uuid import UUID

from django.db.models import Q, Subquery

from archivebox.base_models.paging import Order, PageCursor
from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.search.backend import SearchHit, chosen_backend
from archivebox.search.query.conditions import QueryContext, condition, listed_for
from archivebox.search.query.parser import Either, Every, Field, Node, Not, QueryError, Result, WordGroup, parse

MOST_HITS = 1_000
"""Texts that an engine is asked for when the best are wanted; there may be more, which is no use to people."""
ALL_HITS = 20_000
"""The same when all are wanted, or all others."""
HITS_TOGETHER = 10_000
"""Texts of a query that asks for many groups of words: of 50 each has its 200 best."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The Snapshots that a query means, the words that were looked for, and the texts that have them, best first."""

    among: SnapshotQuerySet
    tree: Node
    known: QueryContext
    words: tuple[str, ...] = ()
    hits: dict[UUID, list[SearchHit]] = field(default_factory=dict)

    @property
    def rows(self) -> SnapshotQuerySet:
        """All, without an order."""
        return self.within(None, None)

    @property
    def has_lists(self) -> bool:
        """Whether an index by something else than their order lists pages for it, perhaps hundred thousands."""
        return _has_lists(self.tree)

    def tagged(self, name: str) -> "Selection":
        """Those with the tag of this name."""
        return replace(self, tree=Every((self.tree, Field("tag", name))))

    def only(self, keys: list[UUID]) -> "Selection":
        """These of its pages, which nothing has to be asked about any more."""
        return replace(self, among=self.among.filter(pk__in=keys), tree=Every())

    def within(self, first: UUID | None, last: UUID | None) -> SnapshotQuerySet:
        """Those from one key up to another: what indexes list beside these is not looked at."""
        known = replace(self.known, first=first, last=last)
        return known.near(self.among, "pk").filter(condition(self.tree, known))

    def ahead(self, place: PageCursor, order: Order) -> SnapshotQuerySet:
        """Those among which these are, beyond the place by key, from where the first of these may be.

        A tag may be on 200,000 pages, none of which is among the newest.
        """
        rows, descending = self.among, order.descends_from(place)
        for node in _demands(self.tree):
            if isinstance(node, Field) and node.key in ("before", "after"):
                rows = rows.filter(condition(node, self.known))
            elif not (isinstance(node, Result) and node.reason):  # an index lists reasons in another order
                rows = rows.filter(_from_the_first(node, place.key, descending=descending))
        return rows


def _from_the_first(node: Node, beyond: UUID | None, *, descending: bool) -> Q:
    """Not before the first page of the list by which an index answers, if there is one."""
    listed = listed_for(node)
    if listed is None:
        return Q()
    sign, side = ("-", "lt") if descending else ("", "gt")
    keys = listed if beyond is None else listed.filter(**{f"snapshot_id__{side}": beyond})
    return Q(**{f"pk__{side}e": Subquery(keys.order_by(f"{sign}snapshot_id").values("snapshot_id")[:1])})


def select(
    text: str,
    scope: ViewerScope,
    *,
    among: SnapshotQuerySet | None = None,
    removed: bool = True,
    texts: bool = True,
    every: bool = False,
) -> SnapshotQuerySet:
    """The Snapshots that a query means to who sees so far, without an order; page them by key.

    ``among``: of these alone; else of all that nobody removed, unless the query asks for ``is:removed``, which
    ``removed`` allows. Those that were never begun are left out, unless it asks for them. ``texts``: whether texts and
    notes are searched, which not everybody may. ``every``: all that have the words in a text, not the best 1,000.
    Raises QueryError, and SearchUnavailableError where the search engine cannot answer.
    """
    return chosen(text, scope, among=among, removed=removed, texts=texts, every=every).rows


def chosen(
    text: str,
    scope: ViewerScope,
    *,
    among: SnapshotQuerySet | None = None,
    removed: bool = True,
    texts: bool = True,
    every: bool = False,
) -> Selection:
    """The same, with what was found in texts."""
    tree = parse(text)
    wanted = list(_wanted_texts(tree)) if texts else []
    found = _hits(wanted, scope, every=every) if wanted else {}
    rows = seen_by(scope, _among(tree, removed=removed) if among is None else among)
    rows = rows if _asks_for_unfetched(tree) else rows.without_unfetched()
    hits: dict[UUID, list[SearchHit]] = {}
    for words, is_negated in wanted:
        for hit in [] if is_negated else found[words]:
            hits.setdefault(hit.snapshot, []).append(hit)
    keys = {words: list(dict.fromkeys(hit.snapshot for hit in some)) for words, some in found.items()}
    notes = texts and (scope.is_whole or scope.account is not None)
    return Selection(rows, tree, QueryContext(scope, keys, notes=notes), tuple(_words(tree)), hits)


def _among(tree: Node, *, removed: bool) -> SnapshotQuerySet:
    rows: SnapshotQuerySet = Snapshot.objects.all()
    return rows if removed and _asks_for_removed(tree) else rows.kept()


def _asks_for_removed(node: Node) -> bool:
    return Field("is", "removed") in _demands(node)


def _asks_for_unfetched(node: Node) -> bool:
    """Those that were never begun are pages of their crawl; elsewhere they would be empty cards by the thousand."""
    return any(one in _OF_UNFETCHED or (isinstance(one, Field) and one.key == "id") for one in _demands(node))


_OF_UNFETCHED = {
    Field("is", "unfetched"),
    Field("is", "cancelled"),
    Field("is", "removed"),
    Field("status", "cancelled"),
}


def _demands(node: Node) -> Iterator[Field | Result]:
    """What has to be true of every page that is found."""
    match node:
        case Every(parts):
            for part in parts:
                yield from _demands(part)
        case Field() | Result():
            yield node


def _has_lists(node: Node) -> bool:
    match node:
        case Every(parts) | Either(parts):
            return any(map(_has_lists, parts))
        case Not(part):
            return _has_lists(part)
        case Result() | Field("tag" | "quality" | "note" | "has" | "http") | Field("is", "failed" | "complete"):
            return True
        case Field("url", value):
            return value.endswith("*")
        case _:
            return False


def _wanted_texts(node: Node, *, is_negated: bool = False) -> Iterator[tuple[tuple[str, ...], bool]]:
    """What has to be asked of the search engine; True: what has it is left out."""
    match node:
        case WordGroup(words):
            yield words, is_negated
        case Field("text", value):
            yield (value,), is_negated
        case Every(parts) | Either(parts):
            for part in parts:
                yield from _wanted_texts(part, is_negated=is_negated)
        case Not(part):
            yield from _wanted_texts(part, is_negated=not is_negated)


def _words(tree: Node) -> list[str]:
    return [word for words, is_negated in _wanted_texts(tree) if not is_negated for word in words]


def _hits(
    wanted: list[tuple[tuple[str, ...], bool]], scope: ViewerScope, *, every: bool
) -> dict[tuple[str, ...], list[SearchHit]]:
    """The texts with each group of words, all asked at a time. True beside the words: all such texts are needed."""
    backend = chosen_backend()
    if backend is None:
        return {words: [] for words, _ in wanted}
    whole = {words for words, is_negated in wanted if every or is_negated}
    share = min(MOST_HITS, HITS_TOGETHER // len(wanted))
    questions = {words: ALL_HITS if words in whole else share for words, _ in wanted}
    found = dict(zip(questions, backend.query(list(questions.items())), strict=True))
    for words in whole:
        if len(found[words]) == ALL_HITS:
            sentence = f"More than {ALL_HITS:,} texts have {' '.join(words)!r}: add more words, or leave this one out."
            raise QueryError(sentence, 0)
    hidden = [
        words
        for words in found.keys() - whole
        if not scope.is_whole and len(found[words]) == share and len(_seen(found[words], scope)) < share
    ]
    more = backend.query([(words, ALL_HITS // len(hidden)) for words in hidden]) if hidden else []
    return found | {words: _seen(hits, scope)[:share] for words, hits in zip(hidden, more, strict=True)}


def _seen(hits: list[SearchHit], scope: ViewerScope) -> list[SearchHit]:
    """An engine does not know who asks: all of its best may be hidden."""
    keys = {hit.snapshot for hit in hits}
    seen = set(seen_by(scope, Snapshot.objects.filter(pk__in=keys)).values_list("pk", flat=True))
    return [hit for hit in hits if hit.snapshot in seen]
