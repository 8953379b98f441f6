"""Owns what is found first, where in a Snapshot (title, URL and tags, or texts, which are files), and its excerpt."""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

from django.db.models import prefetch_related_objects

from archivebox.base_models.paging import NEWEST, Order, PageCursor, PageOfRows, page_near, page_of
from archivebox.core.note import Note
from archivebox.core.snapshot import SHOWN_TITLE, Snapshot
from archivebox.search.backend import SearchHit
from archivebox.search.query.conditions import called
from archivebox.search.query.selection import Selection

ORDERS: Mapping[str, Order] = {
    "newest": NEWEST,
    "oldest": Order(),
    "title": Order("shown_title", expression=SHOWN_TITLE),
    "host": Order("domain"),
    "size": Order("size", descending=True),
    "worst": Order("quality"),
}
"""By what lists of Snapshots can be sorted: what has an index."""
SHOWN_OF_A_PAGE = 3
"""Texts of one Snapshot that are shown."""
LOOKED_AT = 4_000_000
"""Bytes of a file in which the words are looked for again."""
AROUND = 80
"""Characters shown on each side of the first word."""
SNIPPET_LOOKED_AT = 300_000
"""Bytes of one text that are read for the snippet of a list, which has sixty."""


@dataclass(frozen=True, slots=True)
class Match:
    """Where in a Snapshot the words are, and what is there.

    ``where``: ``title``, ``url``, ``tags`` or ``note``, or the file of a plugin. ``highlights``: the words in the
    snippet, each from one character up to another.
    """

    where: str
    snippet: str
    highlights: Sequence[tuple[int, int]] = ()


@dataclass(slots=True)
class FoundSnapshot:
    """A Snapshot that a query means."""

    snapshot: Snapshot
    matches: list[Match] = field(default_factory=list)


def find(selection: Selection, limit: int, order: Order | None = None) -> list[FoundSnapshot]:
    """At most ``limit``, in an order, or those that are called so, the newest first, then the best texts.

    Last of all those that are meant for something else than words.
    """
    if order is not None or not selection.words:
        listed = page_found(selection, PageCursor(), limit, order or NEWEST).rows
        prefetch_related_objects(listed, "tags")
        shown = [FoundSnapshot(one, _facts(one, selection.words)) for one in listed]
    else:
        shown = _best(selection, limit)
    notes = note_matches(selection, [one.snapshot.pk for one in shown])
    for one in shown:
        hits = selection.hits.get(one.snapshot.pk, [])[:SHOWN_OF_A_PAGE]
        one.matches += notes.get(one.snapshot.pk, [])
        one.matches += [_match(one.snapshot, hit, selection.words) for hit in hits]
    return shown


def _best(selection: Selection, limit: int) -> list[FoundSnapshot]:
    rows, words, hits = selection.rows.prefetch_related("tags"), selection.words, selection.hits
    titled = rows.filter(called(words, notes=selection.known.notes)).order_by("-id")[:limit]
    found = {one.pk: FoundSnapshot(one, _facts(one, words)) for one in titled}
    others = {one.pk: one for one in rows.filter(pk__in=[key for key in hits if key not in found])}
    found |= {key: FoundSnapshot(others[key]) for key in hits if key in others}
    if len(found) < limit:
        found |= {one.pk: FoundSnapshot(one) for one in rows.exclude(pk__in=list(found)).order_by("-id")[:limit]}
    return list(found.values())[:limit]


def note_matches(selection: Selection, keys: Collection[UUID]) -> dict[UUID, list[Match]]:
    """What notes on these Snapshots say of the words, where notes were searched."""
    found: dict[UUID, list[Match]] = {}
    for note in Note.objects.filter(snapshot__in=keys) if selection.known.notes and selection.words else ():
        if any(_is_in(word, note.text) for word in selection.words):
            snippet = excerpt(note.text, selection.words)
            found.setdefault(note.snapshot_id, []).append(Match("note", snippet, spans(snippet, selection.words)))
    return found


def snippets(selection: Selection, shown: Sequence[Snapshot]) -> dict[UUID, Match]:
    """For each of a list's Snapshots where words were found the one place to show: a note, else its best text."""
    found = {key: matches[0] for key, matches in note_matches(selection, [one.pk for one in shown]).items()}
    for one in shown:
        hits = selection.hits.get(one.pk)
        if hits and one.pk not in found:
            match = _match(one, hits[0], selection.words, SNIPPET_LOOKED_AT)
            if match.highlights:
                found[one.pk] = match
    return found


def sortable(selection: Selection, sort: str) -> Selection:
    """Those that can be sorted so: by quality what was measured, by all else everything."""
    return replace(selection, among=selection.among.measured()) if sort == "worst" else selection


def page_found(selection: Selection, place: PageCursor, size: int, order: Order = NEWEST) -> PageOfRows[Snapshot]:
    """A page of the list; its rows are read by key, which indexes find without them. PlaceGoneError."""
    page = _keys(selection, place, size, order)
    rows = Snapshot.objects.in_bulk([row.pk for row in page.rows])
    return replace(page, rows=[rows[row.pk] for row in page.rows if row.pk in rows])


def newest_keys(selection: Selection, most: int) -> list[UUID]:
    """The keys of the newest, a page of them; of thousands it is quicker to ask for all at once."""
    return [row.pk for row in _keys(selection, PageCursor(), most, NEWEST).rows]


def _keys(selection: Selection, place: PageCursor, size: int, order: Order) -> PageOfRows[Snapshot]:
    """The page in rows of which nothing but the key is read."""
    if order.column or not selection.has_lists:
        return page_of(selection.rows.only("pk"), place, size, order)
    ahead = selection.ahead(place, order)
    return page_near(ahead, lambda *bounds: selection.within(*bounds).only("pk"), place, size, order)


def _facts(snapshot: Snapshot, words: Sequence[str]) -> list[Match]:
    tags = ", ".join(tag.name for tag in snapshot.tags.all())
    facts = {"title": snapshot.title, "url": snapshot.url, "tags": tags}
    return [
        Match(name, text, spans(text, words))
        for name, text in facts.items()
        if any(_is_in(word, text) for word in words)
    ]


def _is_in(word: str, text: str) -> bool:
    return word.rstrip("*").casefold() in text.casefold()


def _match(snapshot: Snapshot, hit: SearchHit, words: Sequence[str], most: int = LOOKED_AT) -> Match:
    """Nothing is fetched for it: a page whose files are in an object store alone is shown without."""
    snippet = excerpt_of(snapshot.path / hit.plugin / hit.file, words, most)
    return Match(f"{hit.plugin}/{hit.file}", snippet, spans(snippet, words))


def excerpt_of(path: Path, words: Sequence[str], most: int = LOOKED_AT) -> str:
    """The surroundings of the first of ``words`` in a file, on one line; its beginning where none is seen again.

    ``most``: bytes of it that are read. Empty where the file is not there any more.
    """
    try:
        with path.open("rb") as file:
            return excerpt(file.read(most).decode("utf-8", "replace"), words)
    except OSError:
        return ""


def excerpt(text: str, words: Sequence[str]) -> str:
    """The same of a text in memory."""
    start, end = _place(text, words)
    first, last = max(0, start - AROUND), min(len(text), end + AROUND)
    before, after = "…" if first else "", "…" if last < len(text) else ""
    return before + " ".join(text[first:last].split()) + after


def spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Where the words stand in a short text: from which character to which, in order."""
    plain = _pattern([_plain(word) for word in words])
    found = re.finditer(_pattern(words), text, re.IGNORECASE), re.finditer(plain, _plain(text))
    taken: list[tuple[int, int]] = []
    for start, end in sorted({one.span() for matches in found for one in matches}):
        if start < end and (not taken or start >= taken[-1][1]):
            taken.append((start, end))
    return taken


def _place(text: str, words: Sequence[str]) -> tuple[int, int]:
    """Where the first word stands: as it is written, else without its marks (``cafe`` for ``café``)."""
    plain = [_plain(word) for word in words]
    found = re.search(_pattern(words), text, re.IGNORECASE) or re.search(_pattern(plain), _plain(text))
    return found.span() if found else (0, 0)


def _pattern(words: Sequence[str]) -> str:
    """Any of the words; what parts the words of a phrase may be any white space or sign.

    Signs of the phrase itself are left out: where they had to be found among those of a page, a long row of dashes
    would be divided in all possible ways.
    """
    phrases = (r"\W+".join(re.findall(r"\w+", word)) for word in words)
    return "|".join(filter(None, phrases)) or "$."


def _plain(text: str) -> str:
    """Lower case, without diacritics, and as many characters as before."""
    if text.isascii():
        return text.lower()
    return "".join(unicodedata.normalize("NFD", char)[0].lower()[0] for char in text)
