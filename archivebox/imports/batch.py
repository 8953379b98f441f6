"""Owns bringing the files of some pages into the collection, before their rows are written."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from archivebox.config.settings import DATA_FOLDER
from archivebox.imports.page import ImportedPage, NotImported
from archivebox.imports.rows import PageImport
from archivebox.imports.write import PageNotImportedError, PageWriter, WrittenPage, compare, discard
from archivebox.lib.syncing import sync_file_system

TWICE = "The source has another page of this name."


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


def write_batch(items: Iterable[ImportedPage | NotImported], importing: PageImport, writer: PageWriter) -> PageBatch:
    """Write their files, see that these are on the disk, and compare them with what was read.

    Whatever ``writer.stop`` raises; OSError where the collection cannot be written to.
    """
    batch, pages = PageBatch(), dict[str, ImportedPage]()
    for item in items:
        writer.stop()
        if isinstance(item, NotImported):
            (batch.failed if item.is_page else batch.left_out).append(item)
            batch.pages += item.is_page
            continue
        batch.last, batch.pages = item.key, batch.pages + 1
        if item.key in pages:
            batch.failed.append(NotImported(item.url, TWICE))
            item.done()
        pages.setdefault(item.key, item)
    known = importing.known(list(pages)) | importing.kept(pages.values())
    batch.known = len(known)
    for key, page in pages.items():
        try:
            if key not in known:
                batch.written.append(writer.write(page))
        except PageNotImportedError as error:
            batch.failed.append(NotImported(page.url, str(error)))
        finally:
            page.done()
    sync_file_system(DATA_FOLDER.root)
    _compare_all(batch, writer)
    batch.left_out += [item for written in batch.written for item in written.left_out]
    return batch


def _compare_all(batch: PageBatch, writer: PageWriter) -> None:
    same = []
    for written in batch.written:
        writer.stop()
        try:
            compare(written)
            same.append(written)
        except PageNotImportedError as error:
            discard(written)
            batch.failed.append(NotImported(written.url, str(error)))
    batch.written = same
