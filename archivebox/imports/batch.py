"""Owns bringing the files of some pages into the collection, before their rows are written."""

import logging
import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field

from archivebox.config.settings import DATA_FOLDER
from archivebox.imports.page import ImportedPage, NotImported
from archivebox.imports.page_files import PageNotImportedError, WrittenFiles
from archivebox.imports.rows import PageImport
from archivebox.imports.write import PagePlanner, WrittenPage, difference, discard
from archivebox.imports.writing_pool import THREADS, WritingPool
from archivebox.lib.batches import batches
from archivebox.lib.syncing import sync_file_system

log = logging.getLogger(__name__)

TWICE = "The source has another page of this name."
SIZE_MOST = 256 * 1024 * 1024
"""Bytes after which a batch ends: the disk has to keep up, and the kernel holds what it has not written in memory."""
SECONDS_MOST = 5.0
"""What a kill, a pause or a cancel throws away at most, but for one large page."""


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


def write_batch(
    items: Iterable[ImportedPage | NotImported],
    importing: PageImport,
    planner: PagePlanner,
    pool: WritingPool,
    most: int = 0,
) -> PageBatch:
    """Write their files, see that these are on the disk, and compare them with what was read.

    Fewer than ``most`` pages of them, where these are large or it takes long; what comes behind ``most`` is read to the
    end. Whatever ``pool.stop`` raises; OSError where the collection cannot be written to: then nothing of it stays.
    """
    writing = _Writing(pool)
    try:
        batch = _write_batch(items, importing, planner, writing, most)
        sync_file_system(DATA_FOLDER.root)
        _compare_all(batch, pool)
    except BaseException:  # raised again
        writing.cancel()
        raise
    batch.left_out += [item for written in batch.written for item in written.left_out]
    return batch


class _Writing:
    """Pages on their way into the collection."""

    def __init__(self, pool: WritingPool) -> None:
        self._pool = pool
        self._begun: list[WrittenPage] = []
        """All of which files may be there."""
        self._planned: list[WrittenPage] = []
        self._running = deque[tuple[list[WrittenPage], Future[list[WrittenFiles]]]]()
        self._unsigned = ""
        """Why pages have no signature."""

    @property
    def asks_singly(self) -> bool:
        """Whether one page takes as long as what is asked for together: it is large, or nobody is asked."""
        return self._pool.at_once == 1

    def stop(self) -> None:
        """Whatever it raises that is called again and again."""
        self._pool.stop()

    def add(self, planned: WrittenPage) -> None:
        self._begun.append(planned)
        self._planned.append(planned)
        if len(self._planned) >= self._pool.at_once or self._pool.is_idle:
            self._begin()

    def collect(self, batch: PageBatch, waiting: int) -> None:
        """Wait until no more than so many are asked for, and count what became of the others."""
        while len(self._running) > waiting:
            pages, future = self._running[0]
            written = self._pool.result(future)
            self._running.popleft()
            for page, files in zip(pages, written, strict=True):
                page.page.done()
                self._note_unsigned(files)
                _count(batch, page, files)

    def _note_unsigned(self, files: WrittenFiles) -> None:
        """Log it once."""
        if files.unsigned and not self._unsigned:
            self._unsigned = files.unsigned
            log.warning("Not signed: %s action=not_signed", files.unsigned)

    def collect_all(self, batch: PageBatch) -> None:
        if self._planned:
            self._begin()
        self.collect(batch, 0)

    def cancel(self) -> None:
        """Delete the files of all."""
        self._pool.cancel()
        for page in self._begun:
            discard(page)
        for pages in (*(pages for pages, _ in self._running), self._planned):
            for page in pages:
                page.page.done()

    def _begin(self) -> None:
        self._running.append((self._planned, self._pool.write([page.planned_files() for page in self._planned])))
        self._planned = []


def _write_batch(
    items: Iterable[ImportedPage | NotImported],
    importing: PageImport,
    planner: PagePlanner,
    writing: _Writing,
    most: int,
) -> PageBatch:
    batch, keys, until = PageBatch(), set[str](), time.monotonic() + SECONDS_MOST
    for item in items:
        writing.stop()
        planned = _plan(item, batch, keys, importing, planner)
        if planned is not None:
            writing.add(planned)
        writing.collect(batch, THREADS if writing.asks_singly else 2 * THREADS)
        if batch.pages < most and (batch.size > SIZE_MOST or time.monotonic() > until):
            break
    writing.collect_all(batch)
    return batch


def _plan(
    item: ImportedPage | NotImported, batch: PageBatch, keys: set[str], importing: PageImport, planner: PagePlanner
) -> WrittenPage | None:
    """Count an item; what is to be written of it, if anything. ``keys``: of the pages before it."""
    if item.key:
        batch.last, batch.pages = item.key, batch.pages + 1
    if isinstance(item, NotImported):
        (batch.failed if item.key else batch.left_out).append(item)
        return None
    try:
        if item.key in keys:
            raise PageNotImportedError(TWICE)  # noqa: TRY301 - one of several reasons
        if not importing.is_known(item):
            keys.add(item.key)
            return planner.plan(item)
        batch.known += 1
    except PageNotImportedError as error:
        batch.failed.append(NotImported(item.url, str(error)))
    item.done()
    return None


def _count(batch: PageBatch, page: WrittenPage, files: WrittenFiles) -> None:
    try:
        page.learn(files)
    except PageNotImportedError as error:
        batch.failed.append(NotImported(page.url, str(error)))
        return
    batch.written.append(page)
    batch.size += page.size


def _compare_all(batch: PageBatch, pool: WritingPool) -> None:
    written, batch.written = batch.written, []
    running = [
        (pages, pool.differences([(page.whole_path, page.hashes) for page in pages]))
        for pages in batches(written, pool.at_once)
    ]
    for pages, future in running:
        for page, (missing, changed) in zip(pages, pool.result(future), strict=True):
            if problem := difference(missing, changed):
                discard(page)
                batch.failed.append(NotImported(page.url, problem))
            else:
                batch.written.append(page)
