"""Owns which answers of an archive belong to a page: by what the archive says, else by what the page names."""

from collections.abc import Callable, Iterator, Sequence

from archivebox.imports.document import DocumentContent
from archivebox.imports.readers.warc_index import IndexedAnswer, WarcIndex

ANSWERS_MOST = 10_000
"""Answers of one page."""
_BEFORE, _LONGEST_VISIT = 5.0, 86_400.0
"""Seconds: how long before its document a page may ask for something, and how long it asks for more."""
_LEVELS = 3
"""Documents and style sheets within one another whose URLs are looked for."""
_REDIRECTS_MOST = 5

Named = Callable[[IndexedAnswer], Sequence[str]]


def answers_of_page(
    index: WarcIndex, page: IndexedAnswer, content: DocumentContent, named_in: Named, *, by_time: bool
) -> Iterator[IndexedAnswer]:
    """Each once. ``named_in``: the URLs that an answer names; ``by_time``: pages were visited one after the other."""
    given: set[int] = {page.id}
    frames = set(content.frame_urls)
    for one in (*_of_page_id(index, page), *_asked_by(index, page), *(_in_turn(index, page) if by_time else ())):
        if one.id not in given and (one.url in frames or not _is_page(index, one)):
            given.add(one.id)
            yield one
            if len(given) > ANSWERS_MOST:
                return
    for one in _named(index, page, content, named_in):
        if one.id not in given:
            given.add(one.id)
            yield one
            if len(given) > ANSWERS_MOST:
                return


def _of_page_id(index: WarcIndex, page: IndexedAnswer) -> Iterator[IndexedAnswer]:
    """By WARC-Page-ID, which Browsertrix and ArchiveWeb.page write; where a name is of several documents, in turn."""
    if not page.page:
        return iter(())
    end = _next_page(index, "answer.page = ?", page, (page.page,))
    where = "page = ? AND time >= ? AND time < ? AND status != 304 ORDER BY time"
    return index.answers(where, page.page, _begin(index, page), end)


def _begin(index: WarcIndex, page: IndexedAnswer) -> float:
    """From when on answers of this name are of this page: from the beginning, where it is the first of the name."""
    query = "SELECT 1 FROM page JOIN answer ON answer.id = page.answer WHERE answer.page = ? AND answer.time < ?"
    return page.time if index.database.execute(query, (page.page, page.time)).fetchone() else 0.0


def _asked_by(index: WarcIndex, page: IndexedAnswer) -> Iterator[IndexedAnswer]:
    """By the Referer of the request, until the same page was opened again."""
    if page.page:
        return iter(())
    end = _next_page(index, "page.url = ? OR answer.url = ?", page, (page.url, page.url))
    where = "referrer = ? AND time >= ? AND time < ? AND destination != 'document' AND status != 304 ORDER BY time"
    return index.answers(where, page.url, page.time - _BEFORE, end)


def _in_turn(index: WarcIndex, page: IndexedAnswer) -> Iterator[IndexedAnswer]:
    """All until the next page was opened."""
    end = _next_page(index, "1", page, ())
    return index.answers("time >= ? AND time < ? AND status != 304 ORDER BY time", page.time, end)


def _next_page(index: WarcIndex, condition: str, page: IndexedAnswer, values: tuple[str, ...]) -> float:
    query = (
        "SELECT min(answer.time) FROM page JOIN answer ON answer.id = page.answer "  # noqa: S608 - ours
        f"WHERE answer.time > ? AND answer.id != ? AND ({condition})"
    )
    (found,) = index.database.execute(query, (page.time, page.id, *values)).fetchone()
    return min(found or page.time + _LONGEST_VISIT, page.time + _LONGEST_VISIT)


def _named(index: WarcIndex, page: IndexedAnswer, content: DocumentContent, named_in: Named) -> Iterator[IndexedAnswer]:
    """What the document names, and what is named in its style sheets and frames; redirects with where they lead."""
    seen, urls = {page.url}, list(content.resources)
    for _ in range(_LEVELS):
        following: list[str] = []
        for url in urls:
            if url in seen:
                continue
            seen.add(url)
            for answer in _with_redirects(index, url, page.time):
                yield answer
                following += named_in(answer)
        urls = following


def _with_redirects(index: WarcIndex, url: str, time: float) -> Iterator[IndexedAnswer]:
    for _ in range(_REDIRECTS_MOST):
        found = index.nearest(url, time)
        if found is None:
            return
        yield found
        url = found.location
        if not url:
            return


def _is_page(index: WarcIndex, answer: IndexedAnswer) -> bool:
    return index.database.execute("SELECT 1 FROM page WHERE answer = ?", (answer.id,)).fetchone() is not None
