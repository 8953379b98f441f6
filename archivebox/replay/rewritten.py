"""Owns large rewritten documents: made in a process of its own, kept on disk for the next who looks, sent from there.

The server holds a part of a document in memory at a time. What is kept may be lost at any moment: it is made anew.
"""

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from threading import BoundedSemaphore
from typing import BinaryIO

from archivebox.config.settings import DATA_FOLDER
from archivebox.lib import module_process
from archivebox.lib.module_process import LimitError
from archivebox.replay.addresses import ReplayContext
from archivebox.replay.files import NotThereError
from archivebox.replay.index import Location, state_of
from archivebox.replay.rewriting.document import Document, DocumentKind
from archivebox.replay.rewriting.template import Filled, UnfitPlaceError, fill

LARGE = {DocumentKind.CSS: 512 * 1024}
LARGE_DOCUMENT = 128 * 1024
"""Bytes beyond which a process of its own does it, which starts in 0.3 s: a document takes up to a hundred times its
size in memory, a style sheet four times."""
MAX_REWRITERS = 2
"""Processes that rewrite, each of up to 1 GB; others wait."""
MOST = 512 * 1024 * 1024
"""Bytes that are kept; beyond, those go that were not looked at for longest."""
_MODULE = "archivebox.replay.rewriting.document_main"
_CODE = Path(__file__).parent
_places = BoundedSemaphore(MAX_REWRITERS)


class LargeDocumentError(Exception):
    """It takes long and much memory to rewrite it: few are done at a time."""


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """Where a document of ``size`` bytes lies: in a record, or in an open file. ``identity`` changes with it.

    A record has its digest for it; a file its place, size and time.
    """

    identity: str
    size: int
    record: Location | None = None
    descriptor: int = -1


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A document for one viewer; whoever has it closes ``file``."""

    file: BinaryIO
    filled: Filled


def is_large(kind: DocumentKind, size: int) -> bool:
    """Whether so many bytes are rewritten apart from the server."""
    return size > LARGE.get(kind, LARGE_DOCUMENT)


def open_rewritten(document: Document, source: DocumentSource, *, apart: bool) -> Rewritten:
    """The document as it was kept, or as it is made now. Blocks.

    LargeDocumentError where it has to be made and is not to be, ``apart`` from the server. NotThereError.
    """
    path = _folder() / _name_of(document, source)
    if kept := _open_kept(path, document):
        return kept
    if not apart:
        raise LargeDocumentError
    with _places:
        if kept := _open_kept(path, document):  # somebody else has made it meanwhile
            return kept
        return _filled(_make(document, source, path), document)


def _open_kept(path: Path, document: Document) -> Rewritten | None:
    """The document, looked at now; None where it is not there, or not whole (the machine may have lost power)."""
    try:
        file = path.open("rb")
    except OSError:
        return None
    with suppress(OSError):
        os.utime(file.fileno())
    try:
        return _filled(file, document)
    except ValueError:
        with suppress(OSError):
            path.unlink()
        return None


def _filled(file: BinaryIO, document: Document) -> Rewritten:
    """NotThereError where the viewer's place cannot be filled in; ValueError for what is no whole document of ours."""
    try:
        return Rewritten(file, fill(file, document.place))
    except UnfitPlaceError as error:
        file.close()
        raise NotThereError from error
    except BaseException:
        file.close()
        raise


def _folder() -> Path:
    return DATA_FOLDER.rewritten


def _name_of(document: Document, source: DocumentSource) -> str:
    """A name that is another wherever something else would be written."""
    place = (
        ReplayContext("", "", document.place.moment) if isinstance(document.place, ReplayContext) else document.place
    )
    state = state_of(Path(document.folder)) if document.folder else []
    told = [_version(), asdict(replace(document, place=place)), source.identity, source.size, state]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


@cache
def _version() -> str:
    """What the code is that rewrites."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in ("rewriting", "scripts") for path in (_CODE / folder).glob("*.*")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _make(document: Document, source: DocumentSource, path: Path) -> BinaryIO:
    """Have it rewritten, and kept where that is possible; what takes too much is kept as its source."""
    with suppress(OSError):
        DATA_FOLDER.make_folder(path.parent, 0o700)
    folder = path.parent if os.access(path.parent, os.W_OK) else None
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as file:
        made = Path(file.name)
    try:
        try:
            _write(document, source, made)
        except LimitError:
            _write(replace(document, kind=DocumentKind.SOURCE), source, made)
        opened = made.open("rb")
        if folder is not None:
            with suppress(OSError):  # whoever purges may empty it at this moment
                made.replace(path)
                _make_room(folder)
    except LimitError as error:
        raise NotThereError("not even its source can be shown") from error
    finally:
        made.unlink(missing_ok=True)
    return opened


def _write(document: Document, source: DocumentSource, made: Path) -> None:
    """LimitError."""
    with made.open("wb") as output:
        told = {
            "document": json.dumps(asdict(document)),
            "folder": document.folder,
            "record": asdict(source.record) if source.record else None,
            "descriptor": source.descriptor,
            "size": source.size,
            "output": output.fileno(),
        }
        files = [output.fileno()] + ([source.descriptor] if source.record is None else [])
        module_process.run_limited(_MODULE, json.dumps(told).encode(), files)


def _make_room(folder: Path) -> None:
    """Remove what was not looked at for longest, until no more is kept than may be."""
    kept = [(entry.stat(), Path(entry.path)) for entry in os.scandir(folder)]
    size = sum(status.st_size for status, _ in kept)
    for status, path in sorted(kept, key=lambda each: each[0].st_mtime):
        if size <= MOST:
            break
        path.unlink(missing_ok=True)
        size -= status.st_size
