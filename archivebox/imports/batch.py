"""Owns bringing pages of a source into the collection: some at a time, whose rows are then written together."""

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from types import TracebackType
from typing import Self
from uuid import UUID

from archivebox.config.settings import DATA_FOLDER
from archivebox.imports.page import ImportedPage, NotImported
from archivebox.imports.page_files import PageFilesWriter, PageNotImportedError, WrittenPage
from archivebox.imports.transfer import Transfer
from archivebox.imports.write import PagePlanner
from archivebox.lib.syncing import sync_file_system

Item = ImportedPage | NotImported
KnownPages = Callable[[Sequence[ImportedPage]], Collection[str]]
"""The keys of those pages that were imported before."""
TWICE = "The source has another page of this name."
THREADS = 3
"""How many pages are written at a time."""
ASKED_TOGETHER = 20
"""Pages of which is asked by one statement whether they are known; they are written while more are read."""
SIZE_MOST = 256 * 1024 * 1024
"""Bytes after which a batch ends: the disk has to keep up, and the kernel holds what it has not written in memory."""
SECONDS_MOST = 5.0
"""How long a batch is read at most. A kill, a pause or a cancel throws away one batch."""


@dataclass(slots=True)
class PageBatch:
    """What became of the items of a source that were read together."""

    last: str = ""
    """The key of the last page."""
    pages: int = 0
    known: int = 0
    """Pages that were imported before."""
    written: list[WrittenPage] = field(default_factory=list)
    failed: list[NotImported] = field(default_factory=list)
    """Pages that cannot be kept."""
    left_out: list[NotImported] = field(default_factory=list)
    """What else was not imported."""
    is_over: bool = False
    """Whether the source has no more."""


class BatchWriter:
    """Writes the pages of a source, one batch after the other. Close it.

    ``pages_behind``: reads the source from behind the page of this key. ``stop`` is called again and again, by threads,
    too, and may raise. ``may_discard``: whether nobody else can be at work on the same pages, which would lose their
    files.
    """

    def __init__(
        self,
        pages_behind: Callable[[str], Iterator[Item]],
        transfer: Transfer,
        stop: Callable[[], None],
        may_discard: Callable[[], bool],
    ) -> None:
        self._pages_behind, self._stop, self._may_discard = pages_behind, stop, may_discard
        self._is_ending = Event()
        self._files = PageFilesWriter(DATA_FOLDER.keys, transfer, partial(_stop_thread, self._is_ending, stop))
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="import")
        self._items: Iterator[Item] | None = None
        self._behind = ""
        """The key of the page behind which the source stands."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def write(self, after: str, most: int, known: KnownPages, planner: PagePlanner, *, to_end: bool) -> PageBatch:
        """Write the files of ``most`` pages behind ``after``, compare them, and see that they are on the disk.

        Fewer pages, where these are large or it takes long. ``to_end``: what comes behind them is read, too. Whatever
        ``stop`` raises; OSError where the collection cannot be written to: then nothing of it stays. The rows of the
        batch have to be committed before the next.
        """
        if self._items is None or self._behind != after:
            self._items = self._pages_behind(after)
        begun = _BegunBatch(known, planner, self._begin)
        try:
            begun.read(self._items, most, self._stop, to_end=to_end)
            batch = begun.collect()
            sync_file_system(DATA_FOLDER.root)
        except BaseException:  # raised again
            self._items = None
            self._end(begun)
            raise
        self._behind = batch.last or after
        return batch

    def close(self) -> None:
        self._threads.shutdown()

    def _begin(self, page: WrittenPage) -> "Future[None]":
        return self._threads.submit(self._files.write, page)

    def _end(self, begun: "_BegunBatch") -> None:
        """Have the threads end, and delete the files that they have written, if that may be."""
        self._is_ending.set()
        for _, future in begun.running:
            future.cancel()
        wait([future for _, future in begun.running])
        self._is_ending.clear()
        may_discard = self._may_discard()
        for page, _ in begun.running:
            if may_discard:
                page.discard()
            page.page.done()
        for read in begun.unasked:
            read.done()


def _stop_thread(is_ending: Event, stop: Callable[[], None]) -> None:
    if is_ending.is_set():
        raise CancelledError
    stop()


class _BegunBatch:
    """Pages on their way into the collection. ``begin``: has a thread write the files of one."""

    def __init__(self, known: KnownPages, planner: PagePlanner, begin: "Callable[[WrittenPage], Future[None]]") -> None:
        self._known, self._planner, self._begin = known, planner, begin
        self._batch = PageBatch()
        self._keys = set[str | UUID]()
        """Those of pages in the source, and of pages that bring their own."""
        self._size = 0
        self.unasked = list[ImportedPage]()
        """Pages of which nobody has asked yet whether they are known."""
        self.running = list[tuple[WrittenPage, Future[None]]]()

    def read(self, items: Iterator[Item], most: int, stop: Callable[[], None], *, to_end: bool) -> None:
        """Begin ``most`` pages, or fewer."""
        until = time.monotonic() + SECONDS_MOST
        while to_end or self._batch.pages < most:
            item = next(items, None)
            if item is None:
                self._batch.is_over = True
                break
            stop()
            self._add(item)
            if self._batch.pages < most and (self._size > SIZE_MOST or time.monotonic() > until):
                break
        self._begin_unasked()

    def collect(self) -> PageBatch:
        """Wait until all are written."""
        batch = self._batch
        for page, future in self.running:
            try:
                future.result()
            except PageNotImportedError as error:
                batch.failed.append(NotImported(page.url, str(error)))
            else:
                batch.written.append(page)
                batch.left_out += page.left_out
            page.page.done()
        return batch

    def _add(self, item: Item) -> None:
        batch = self._batch
        if item.key:
            batch.last, batch.pages = item.key, batch.pages + 1
        if isinstance(item, NotImported):
            (batch.failed if item.key else batch.left_out).append(item)
            return
        self.unasked.append(item)
        self._size += _size_of(item)
        if len(self.unasked) == ASKED_TOGETHER:
            self._begin_unasked()

    def _begin_unasked(self) -> None:
        """Have those written that were read and are not known."""
        known = self._known(self.unasked) if self.unasked else ()
        for page in self.unasked:
            try:
                if page.key in self._keys:
                    raise PageNotImportedError(TWICE)  # noqa: TRY301 - one of several reasons
                if page.key not in known:
                    self._keys |= {page.key} if page.rows is None else {page.key, page.rows.id}
                    planned = self._planner.plan(page)
                    self.running.append((planned, self._begin(planned)))
                    continue
                self._batch.known += 1
            except PageNotImportedError as error:
                self._batch.failed.append(NotImported(page.url, str(error)))
            page.done()
        self.unasked = []


def _size_of(page: ImportedPage) -> int:
    """Bytes that are to be written."""
    size = 0
    for output in page.outputs:
        for file in output.files:
            with suppress(OSError, ValueError):  # whoever writes it says why it cannot be read
                size += os.stat(file.source).st_size  # noqa: PTH116 - a Path for each file costs more
    return size
