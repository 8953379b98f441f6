"""Owns bringing pages of a source into the collection: some at a time, whose rows are then written together."""

import os
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Self
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from archivebox.accounts.permission import viewer_scope
from archivebox.config.settings import DATA_FOLDER
from archivebox.imports.page import ImportedPage, NotImported
from archivebox.imports.page_files import PageFilesWriter, PageNotImportedError, Transfer, WrittenPage, remove_source
from archivebox.lib.system_calls import sync_file_system
from archivebox.lib.urls import BadUrl, parse_url, path_domain_of

_SCHEMES = frozenset({"http", "https", "ftp", "file"})
"""What pages may have been archived from: all lists link to their URLs."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class PagePlanner:
    """Decides where pages of one source lie for one owner."""

    def __init__(self, source: str, username: str) -> None:
        self._source, self._username = source, username

    def remove_sources(self, page: ImportedPage, stop: Callable[[], None]) -> None:
        """Delete what was imported from the source. ``stop`` is called before each file, and may raise."""
        folder = DATA_FOLDER.root / self.plan(page).folder
        for output in page.outputs:
            for file in output.files:
                stop()
                remove_source(Path(file.source), folder / output.plugin / file.name)

    def plan(self, page: ImportedPage) -> WrittenPage:
        """Where it will lie; PageNotImportedError where it cannot be kept."""
        try:
            parsed = parse_url(page.url)
        except BadUrl as error:
            raise PageNotImportedError(f"Its URL cannot be used: {error}.") from None
        if parsed.scheme not in _SCHEMES:
            raise PageNotImportedError(f"{parsed.scheme} URLs are not archived.")
        url = parsed.href
        key, username = snapshot_id(self._source, page), self._username
        if page.rows is not None:
            key, username = page.rows.id, known_owner(page.rows.owner, username)
        folder = DATA_FOLDER.snapshot_place(username, page.captured_at.date(), path_domain_of(url), key)
        return WrittenPage(key, page, url, folder)


def known_owner(name: str, importer_name: str) -> str:
    """The user of this name here, where an administrator imports; else whoever imports."""
    importer = User.objects.filter(username=importer_name).first()
    may_choose = importer is not None and viewer_scope(importer).is_whole
    return name if may_choose and User.objects.filter(username=name).exists() else importer_name


def snapshot_id(source: str, page: ImportedPage) -> UUID:
    """The same for the same page of the same source: a UUIDv7 of the time of its capture.

    All lists are in the order of these keys, and show their time. The 12 bits behind the milliseconds hold the fraction
    of one (RFC 9562, 6.2, method 3), the last 62 are of a hash.
    """
    milliseconds, rest = divmod((page.captured_at - _EPOCH) // timedelta(microseconds=1), 1000)
    if milliseconds < 0 or page.captured_at > timezone.now() + timedelta(days=1):
        raise PageNotImportedError(f"Its date cannot be right: {page.captured_at.isoformat()}.")
    digest = int.from_bytes(sha256(f"{source}\n{page.key}".encode("utf-8", "surrogateescape")).digest()[:8])
    fields = milliseconds << 80 | 7 << 76 | (rest * 4096 // 1000) << 64 | 0b10 << 62 | digest >> 2
    return uuid.UUID(int=fields)


# --- a batch ----------------------------------------------------------------------------------------------------------
Item = ImportedPage | NotImported
KnownPages = Callable[[Sequence[ImportedPage]], Collection[str]]
"""The keys of those pages that were imported before."""
TWICE = "The source has another page of this name."
THREADS = 2
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
