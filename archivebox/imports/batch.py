"""Owns pages of a source that are brought into the collection together: they are planned, written and compared."""

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import islice
from uuid import UUID

from archivebox.imports.page import ImportedPage, NotImported
from archivebox.imports.page_files import PageNotImportedError, WrittenFiles
from archivebox.imports.write import PagePlanner, WrittenPage, difference, discard
from archivebox.imports.writing_pool import THREADS, WritingPool
from archivebox.lib.batches import batches

log = logging.getLogger(__name__)

Item = ImportedPage | NotImported
KnownPages = Callable[[Sequence[ImportedPage]], Collection[str]]
"""The keys of those pages that were imported before."""
TWICE = "The source has another page of this name."
SIZE_MOST = 256 * 1024 * 1024
"""Bytes after which a batch ends: the disk has to keep up, and the kernel holds what it has not written in memory."""
SECONDS_MOST = 5.0
"""What a kill, a pause or a cancel throws away at most, but for one large page and what was begun of the next batch."""


@dataclass(slots=True)
class PageBatch:
    """What became of the items of a source that were read together."""

    last: str = ""
    """The key of the last page."""
    pages: int = 0
    known: int = 0
    """Pages that were imported before."""
    size: int = 0
    """Bytes that were written."""
    written: list[WrittenPage] = field(default_factory=list)
    failed: list[NotImported] = field(default_factory=list)
    """Pages that cannot be kept."""
    left_out: list[NotImported] = field(default_factory=list)
    """What else was not imported."""
    is_over: bool = False
    """Whether the source has no more."""


class SourceItems:
    """The items of a source in their order; the next one can be seen before it is taken."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self._next: list[Item] = []

    def peek(self) -> Item | None:
        """None: the source has no more."""
        if not self._next:
            self._next = list(islice(self._items, 1))
        return self._next[0] if self._next else None

    def take(self) -> Item | None:
        item, self._next = self.peek(), []
        return item


class BegunBatch:
    """Pages on their way into the collection."""

    def __init__(self, source: SourceItems, known: KnownPages, planner: PagePlanner, pool: WritingPool) -> None:
        self.batch = PageBatch()
        self._source, self._known, self._planner, self._pool = source, known, planner, pool
        self._keys = set[str | UUID]()
        """Those of pages in the source, and of pages that bring their own."""
        self._begun: list[WrittenPage] = []
        """All of which files may be there."""
        self._read = deque[ImportedPage]()
        """Pages of which nobody has asked yet whether they are known."""
        self._planned: list[WrittenPage] = []
        self._running = deque[tuple[list[WrittenPage], Future[list[WrittenFiles]]]]()
        self._comparing: list[tuple[Sequence[WrittenPage], Future[list[tuple[list[str], list[str]]]]]] = []
        self._unsigned = ""
        """Why pages have no signature."""

    # --- reading and writing ------------------------------------------------------------------------------------

    def read(self, most: int, *, to_end: bool) -> None:
        """Have ``most`` pages written, fewer where these are large or it takes long.

        ``to_end``: what comes behind them is read, too.
        """
        until = time.monotonic() + SECONDS_MOST
        while to_end or self.batch.pages < most:
            item = self._source.take()
            if item is None:
                self.batch.is_over = True
                break
            self._add(item)
            self._collect(THREADS if self._pool.asks_singly else 2 * THREADS)
            if self.batch.pages < most and (self.batch.size > SIZE_MOST or time.monotonic() > until):
                break
        self._begin_pages()
        self._collect(0)

    def read_one(self, most: int, former: "BegunBatch") -> bool:
        """Begin with one more item; False: there is none, or not before ``former`` is committed."""
        self._collect_written()
        if self.batch.pages >= most or self.batch.size > SIZE_MOST:
            return False
        item = self._source.peek()
        if item is None or former.has(item):
            return False
        self._source.take()
        self._add(item)
        return True

    def has(self, item: Item) -> bool:
        """Whether a page is among these, so that nobody can tell yet whether it is known."""
        return item.key in self._keys or (
            isinstance(item, ImportedPage) and item.rows is not None and item.rows.id in self._keys
        )

    def _add(self, item: Item) -> None:
        self._pool.stop()
        batch = self.batch
        if item.key:
            batch.last, batch.pages = item.key, batch.pages + 1
        if isinstance(item, NotImported):
            (batch.failed if item.key else batch.left_out).append(item)
            return
        self._read.append(item)
        if len(self._read) >= self._pool.at_once or self._pool.is_idle:
            self._begin_pages()

    def _begin_pages(self) -> None:
        """Have all written that were read and are not known."""
        known = self._known(self._read) if self._read else ()
        while self._read:
            self._plan(self._read[0], known)
            self._read.popleft()
        if self._planned:
            self._running.append((self._planned, self._pool.write([page.planned_files() for page in self._planned])))
            self._planned = []

    def _plan(self, page: ImportedPage, known: Collection[str]) -> None:
        """Plan what is to be written of a page, if anything."""
        try:
            if page.key in self._keys:
                raise PageNotImportedError(TWICE)  # noqa: TRY301 - one of several reasons
            if page.key not in known:
                self._keys |= {page.key} if page.rows is None else {page.key, page.rows.id}
                planned = self._planner.plan(page)
                self._begun.append(planned)
                self._planned.append(planned)
                return
            self.batch.known += 1
        except PageNotImportedError as error:
            self.batch.failed.append(NotImported(page.url, str(error)))
        page.done()

    def _collect(self, waiting: int) -> None:
        """Wait until no more than so many requests are left, and count what became of the others."""
        while len(self._running) > waiting:
            self._collect_next()

    def _collect_written(self) -> None:
        while self._running and self._running[0][1].done():
            self._collect_next()

    def _collect_next(self) -> None:
        pages, future = self._running[0]
        written = self._pool.result(future)
        self._running.popleft()
        for page, files in zip(pages, written, strict=True):
            page.page.done()
            self._note_unsigned(files)
            self._count(page, files)

    def _note_unsigned(self, files: WrittenFiles) -> None:
        """Log it once."""
        if files.unsigned and not self._unsigned:
            self._unsigned = files.unsigned
            log.warning("Not signed: %s action=not_signed", files.unsigned)

    def _count(self, page: WrittenPage, files: WrittenFiles) -> None:
        try:
            page.learn(files)
        except PageNotImportedError as error:
            self.batch.failed.append(NotImported(page.url, str(error)))
            return
        self.batch.written.append(page)
        self.batch.size += page.size

    # --- comparing, and its end ---------------------------------------------------------------------------------

    def begin_comparing(self) -> "list[Future[list[tuple[list[str], list[str]]]]]":
        """Have what lies in the collection compared with what was read, when it is on the disk."""
        self._comparing = [
            (pages, self._pool.differences([(page.whole_path, page.hashes) for page in pages]))
            for pages in batches(self.batch.written, self._pool.at_once)
        ]
        return [future for _, future in self._comparing]

    def end_comparing(self) -> PageBatch:
        """What became of all."""
        self.batch.written = []
        for pages, future in self._comparing:
            for page, (missing, changed) in zip(pages, future.result(), strict=True):
                if problem := difference(missing, changed):
                    discard(page)
                    self.batch.failed.append(NotImported(page.url, problem))
                else:
                    self.batch.written.append(page)
        self.batch.left_out += [item for written in self.batch.written for item in written.left_out]
        return self.batch

    def end(self, *, may_discard: bool) -> None:
        """Delete the files of all, if that may be; nobody writes them any more."""
        for page in self._begun if may_discard else ():
            discard(page)
        for pages in (*(pages for pages, _ in self._running), self._planned):
            for page in pages:
                page.page.done()
        for read in self._read:
            read.done()
