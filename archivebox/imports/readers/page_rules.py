"""Owns which answers of a WARC are pages, where nothing lists them."""

from collections.abc import Callable, Iterator

from archivebox.imports.document import DocumentContent
from archivebox.imports.readers.warc_index import IndexedAnswer, WarcIndex

HTML = ("text/html", "application/xhtml+xml")
_PAGES = (*HTML, "application/pdf")
_REDIRECTED_WITHIN = 30.0
"""Seconds between a redirect and the answer to which it led."""
_REDIRECTS_MOST = 10
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
        if _is_page(index, answer, seen):
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
    for _ in range(_REDIRECTS_MOST):
        where = "location = ? AND time BETWEEN ? AND ? ORDER BY time DESC LIMIT 1"
        found = next(index.answers(where, url, time - _REDIRECTED_WITHIN, time + 0.001), None)
        if found is None or found.url in passed:
            return
        yield found
        url, time = found.url, found.time
        passed.add(url)


def _is_page(index: WarcIndex, answer: IndexedAnswer, seen: set[str]) -> bool:
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
