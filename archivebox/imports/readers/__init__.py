"""One module per source: each reads what is there and yields `ImportedPage`."""

from collections.abc import Callable
from pathlib import Path

from archivebox.imports.page import NotReadableError, Reader
from archivebox.imports.readers.exported import open_export
from archivebox.imports.readers.har import open_har
from archivebox.imports.readers.mhtml import open_mhtml
from archivebox.imports.readers.old_collection import open_old_collection
from archivebox.imports.readers.saved_pages import open_folder, open_saved_page, open_single_file
from archivebox.imports.readers.warc import open_wacz, open_warc

OPENERS: tuple[Callable[[Path], Reader | None], ...] = (
    open_export,
    open_old_collection,
    open_warc,
    open_wacz,
    open_har,
    open_mhtml,
    open_single_file,
    open_saved_page,
    open_folder,
)
"""Each says whether a path is a source that it reads; the first one does."""


def open_reader(path: Path) -> Reader:
    """The reader of whatever lies at ``path``. NotReadableError where no reader knows it, or it is damaged."""
    if not path.exists():
        raise NotReadableError(f"Nothing was found at {path}.")
    for opener in OPENERS:
        reader = opener(path)
        if reader is not None:
            return reader
    raise NotReadableError(f"{path} is nothing that can be imported.")
