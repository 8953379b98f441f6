"""One module per source: each reads what is there and yields `ImportedPage`."""

from collections.abc import Callable
from pathlib import Path

from archivebox.imports.page import Reader
from archivebox.imports.readers.old.collection import open_old_collection

OPENERS: tuple[Callable[[Path], Reader | None], ...] = (open_old_collection,)
"""Each says whether a path is a source that it reads; the first one does."""


class NotReadableError(OSError):
    """Nothing that can be imported; the message is a sentence for people."""


def open_reader(path: Path) -> Reader:
    """The reader of whatever lies at ``path``. NotReadableError where no reader knows it, or it is damaged."""
    if not path.exists():
        raise NotReadableError(f"There is nothing at {path}.")
    for opener in OPENERS:
        reader = opener(path)
        if reader is not None:
            return reader
    raise NotReadableError(f"{path} is nothing that can be imported.")
