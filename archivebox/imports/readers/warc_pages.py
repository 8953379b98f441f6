"""Owns which answers of an archive are pages, and which answers belong to each."""

from collections.abc import Callable, Iterator, Sequence

from archivebox.imports.document import DocumentContent
from archivebox.imports.readers.warc_index import IndexedAnswer, WarcIndex

HTML = ("text/html", "application/xhtml+xml")
_PAGES = (*HTML, "application/pdf")
_REDIRECTED_WITHIN = 30.0
"""Seconds between a redirect and the answer to which it led."""
_REDIRECTS_BEFORE_MOST = 10
_EMBEDDED = frozenset("EXIP")
"""Last step of a crawler's way (hopsFromSeed) to what is no page: embed, speculative embed, inferred, prerequisite."""

Read = Callable[[IndexedAnswer], DocumentContent]


def mark_pages(index: WarcIndex, names: list[str], read: Read) -> None:
    """Write the pages into the index; ``names``: of the files; ``read``: gives the frames of a page."""
    candidates = (
        f"status = 200 AND method = 'GET' AND (destination = 'document' OR (destination = '' AND mime IN {_PAGES}))"
    )
    index.database.execute("BEGIN")
    for answer in index.answers(f"{candidates} AND mime IN {HTML}"):
        frames = ((url,) for url in read(answer).frame_urls)
        index.database.executemany("INSERT OR IGNORE INTO frame VALUES (?)", frames)
    seen: set[str] = set()
    for answer in index.answers(f"{candidates} ORDER BY source, offset"):
        if _is_page_by_itself(index, answer, seen):
            insert_page(index, f"{names[answer.source]}:{answer.offset}", answer)
    index.database.execute("COMMIT")


def insert_page(index: WarcIndex, key: str, answer: IndexedAnswer, url: str = "", title: str = "") -> None:
    """``url``: what was asked for, where the source says so; else where the redirects to the page began."""
    start = url or next((one.url for one in reversed(list(redirects_to(index, answer)))), answer.url)
    row = (key, answer.id, start, answer.time, title)
    index.database.execute("INSERT OR IGNORE INTO page (key, answer, url, time, title) VALUES (?, ?, ?, ?, ?)", row)


def redirects_to(index: WarcIndex, answer: IndexedAnswer) -> Iterator[IndexedAnswer]:
    """The redirects that led to an answer, the last first."""
    url, time, passed = answer.url, answer.time, {answer.url}
    for _ in range(_REDIRECTS_BEFORE_MOST):
        where = "location = ? AND time BETWEEN ? AND ? ORDER BY time DESC LIMIT 1"
        found = next(index.answers(where, url, time - _REDIRECTED_WITHIN, time + 0.001), None)
        if found is None or found.url in passed:
            return
        yield found
        url, time = found.url, found.time
        passed.add(url)


def _is_page_by_itself(index: WarcIndex, answer: IndexedAnswer, seen: set[str]) -> bool:
    """``seen``: crawlers' names of pages (WARC-Page-ID) of which the document was met."""
    if answer.destination == "document":
        seen.add(answer.page)
        return True
    query = index.database.execute("SELECT by_script FROM answer WHERE id = ?", (answer.id,))
    if query.fetchone()[0] or (answer.hops or "").rstrip("R")[-1:] in _EMBEDDED - {""}:
        return False
    if answer.page:
        is_first = answer.page not in seen
        seen.add(answer.page)
        return is_first
    is_frame = index.database.execute("SELECT 1 FROM frame WHERE url = ?", (answer.url,)).fetchone()
    return not is_frame or (answer.hops or "").endswith("L")


# --- what belongs to a page -------------------------------------------------------------------------------------------
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
        if one.id not in given and (one.url in frames or not _is_marked(index, one)):
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


def _is_marked(index: WarcIndex, answer: IndexedAnswer) -> bool:
    return index.database.execute("SELECT 1 FROM page WHERE answer = ?", (answer.id,)).fetchone() is not None
