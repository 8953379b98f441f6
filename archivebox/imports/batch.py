"""Owns bringing the files of some pages into the collection, before their rows are written."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from archivebox.config.settings import DATA_FOLDER
from archivebox.imports.page import ImportedPage, NotImported
from archivebox.imports.rows import PageImport
from archivebox.imports.write import PageNotImportedError, PageWriter, WrittenPage, compare, discard
from archivebox.lib.syncing import sync_file_system

TWICE = "The source has another page of this name."
SIZE_MOST = 256 * 1024 * 1024
"""Bytes after which a batch ends: the disk has to keep up, and the kernel holds what it has not written in memory."""
SECONDS_MOST = 5.0
"""What a kill, a pause or a cancel throws away at most, but for one large page."""
_THREADS = 2
"""Whose files are written at a time: hashing and the kernel's work need no interpreter."""


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
    items: Iterable[ImportedPage | NotImported], importing: PageImport, writer: PageWriter, most: int = 0
) -> PageBatch:
    """Write their files, see that these are on the disk, and compare them with what was read.

    Fewer than ``most`` pages of them, where these are large or it takes long; what comes behind ``most`` is read to the
    end. Whatever ``writer.stop`` raises; OSError where the collection cannot be written to: then nothing of it stays.
    """
    begun: list[WrittenPage] = []
    try:
        return _write_batch(items, importing, writer, most, begun)
    except BaseException:  # raised again
        for written in begun:
            discard(written)
        raise


def _write_batch(
    items: Iterable[ImportedPage | NotImported],
    importing: PageImport,
    writer: PageWriter,
    most: int,
    begun: list[WrittenPage],
) -> PageBatch:
    """``begun``: gets each page of which files may be there."""
    batch, keys, until = PageBatch(), set[str](), time.monotonic() + SECONDS_MOST
    running = deque[tuple[WrittenPage, Future[None]]]()
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="import") as pool:
        for item in items:
            writer.stop()
            planned = _plan(item, batch, keys, importing, writer)
            if planned is not None:
                begun.append(planned)
                running.append((planned, pool.submit(_write, planned, writer)))
            if len(running) > _THREADS:
                _collect(batch, *running.popleft())
            if batch.pages < most and (batch.size > SIZE_MOST or time.monotonic() > until):
                break
        for one in running:
            _collect(batch, *one)
        sync_file_system(DATA_FOLDER.root)
        _compare_all(batch, writer, pool)
    batch.left_out += [item for written in batch.written for item in written.left_out]
    return batch


def _plan(
    item: ImportedPage | NotImported, batch: PageBatch, keys: set[str], importing: PageImport, writer: PageWriter
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
            return writer.plan(item)
        batch.known += 1
    except PageNotImportedError as error:
        batch.failed.append(NotImported(item.url, str(error)))
    item.done()
    return None


def _write(planned: WrittenPage, writer: PageWriter) -> None:
    try:
        writer.write(planned)
    finally:
        planned.page.done()


def _collect(batch: PageBatch, written: WrittenPage, future: Future[None]) -> None:
    try:
        future.result()
    except PageNotImportedError as error:
        batch.failed.append(NotImported(written.url, str(error)))
        return
    batch.written.append(written)
    batch.size += written.size


def _compare_all(batch: PageBatch, writer: PageWriter, pool: ThreadPoolExecutor) -> None:
    written, batch.written = batch.written, []
    for page, problem in zip(written, pool.map(partial(_difference, writer.stop), written), strict=True):
        if problem:
            discard(page)
            batch.failed.append(NotImported(page.url, problem))
        else:
            batch.written.append(page)


def _difference(stop: Callable[[], None], written: WrittenPage) -> str:
    try:
        compare(written, stop)
    except PageNotImportedError as error:
        return str(error)
    return ""
