"""Owns reading what another ArchiveBox has exported with ``--format=archivebox``."""

import json
import os
import shutil
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes
from zipfile import BadZipFile, ZipFile, is_zipfile

from archivebox.base_models.rows import time_of
from archivebox.contract.outcomes import Status
from archivebox.export.collection import ABOUT, KIND, PAGES, VERSION, member_name
from archivebox.imports.exported_rows import MOST_NESTED, read_rows
from archivebox.imports.page import (
    ImportedFile,
    ImportedOutput,
    ImportedPage,
    NotImported,
    NotReadableError,
    Reader,
    SourceReport,
)
from archivebox.imports.page_files import PageNotImportedError
from archivebox.imports.scratch import Scratch

DAMAGES = (
    BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, LookupError, TypeError,
    AttributeError,
)  # fmt: skip
"""What is raised by a zip file that is damaged, or a line that is not as we write it."""
MOST_LINE = 256 * 1024 * 1024
"""Bytes of the line of one page."""


def open_export(path: Path) -> Reader | None:
    """None where it is none; NotReadableError where it is damaged, or of a version that is not known here."""
    if not path.is_file() or not is_zipfile(path):
        return None
    try:
        with ZipFile(path) as archive:
            if ABOUT not in archive.namelist():
                return None
            about = _object(archive.read(ABOUT))
    except DAMAGES as error:
        raise NotReadableError(f"{path} is damaged: {error}.") from None
    if about is None or about.get("format") != KIND:
        return None
    if about.get("version") != VERSION:
        raise NotReadableError(f"{path} was exported by a newer ArchiveBox: this one reads version {VERSION}.")
    if not all(isinstance(about.get(name), int) for name in ("pages", "files", "size")):
        raise NotReadableError(f"{path} is damaged: it does not say how much is in it.")
    return ExportReader(path, about)


class ExportReader:
    """Reads the pages of one export, in its order. Files are unpacked page by page."""

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self._path, self._about, self._scratch = path, about, Scratch()

    def report(self) -> SourceReport:
        about = self._about
        kind = f"Export of {about.get('software')}"
        return SourceReport(kind, about["pages"], about["files"], about["size"], identity=KIND)

    def pages(self, after: str = "") -> Iterator[ImportedPage | NotImported]:
        with ZipFile(self._path) as archive, archive.open(PAGES) as lines:
            is_behind = not after
            while line := lines.readline(MOST_LINE):
                page = _object(line)
                if is_behind:
                    damaged = NotImported("A line of the export", "It is damaged.")
                    yield self._read(archive, page) if page is not None else damaged
                is_behind = is_behind or (page is not None and page.get("id") == after)

    def _read(self, archive: ZipFile, page: dict[str, Any]) -> ImportedPage | NotImported:
        folder = self._scratch.page_folder()
        try:
            rows = read_rows(page)
            outputs, tags = tuple(self._unpack(archive, page, folder)), tuple(map(str, page["tags"][:MOST_NESTED]))
        except (*DAMAGES, PageNotImportedError) as error:
            self._scratch.remove(folder)
            return NotImported(str(page.get("url")), str(error), str(page.get("id") or ""))
        return ImportedPage(
            str(rows.id), rows.snapshot["url"], time_of(rows.id), rows.snapshot["title"], tags,
            rows.snapshot["bookmarked_at"], outputs=outputs, done=partial(self._scratch.remove, folder), rows=rows,
        )  # fmt: skip

    def _unpack(self, archive: ZipFile, page: dict[str, Any], folder: Path) -> Iterator[ImportedOutput]:
        """Its files by number, so that no name of them is one of ours."""
        folder.mkdir(parents=True)
        for number, file in enumerate(page["files"]):
            path = os.fsdecode(unquote_to_bytes(file["path"]))
            plugin, _, name = path.partition("/")
            target = folder / str(number)
            with archive.open(member_name(page["id"], path)) as source, target.open("wb") as unpacked:
                shutil.copyfileobj(source, unpacked)
            taken = ImportedFile(name, str(target), sha256=str(file["sha256"]))
            yield ImportedOutput(plugin, Status.SUCCEEDED, (taken,))


def _object(text: bytes) -> dict[str, Any] | None:
    """None for what is not a JSON object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
