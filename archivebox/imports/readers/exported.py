"""Owns reading what another ArchiveBox has exported with ``--format=archivebox``."""

import json
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote_to_bytes
from uuid import UUID
from zipfile import BadZipFile, ZipFile, is_zipfile

from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone

from archivebox.base_models.rows import time_of
from archivebox.contract.hooknames import parse_hook_name
from archivebox.contract.outcomes import Status
from archivebox.contract.reasons import Reason
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.note import LONGEST
from archivebox.core.snapshot import Snapshot
from archivebox.core.statemachines import ArchiveResultMachine
from archivebox.crawls.crawl import Crawl
from archivebox.export.collection import (
    ABOUT,
    CRAWL_COLUMNS,
    KIND,
    PAGES,
    RESULT_COLUMNS,
    SNAPSHOT_COLUMNS,
    VERSION,
    member_name,
)
from archivebox.imports.import_folder import Scratch
from archivebox.imports.page import (
    Columns,
    ExportedRows,
    ImportedFile,
    ImportedOutput,
    ImportedPage,
    NotImported,
    NotReadableError,
    Reader,
    SourceReport,
    clean,
)
from archivebox.imports.page_files import PageNotImportedError, SourceFileError, check_name

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


# --- rows -------------------------------------------------------------------------------------------------------------
_ENDED = {"sealed", "cancelled"}
_OBJECTS = {"output_files"}
MOST_NESTED = 1_000
"""Results, tags or notes of one page."""


def read_rows(line: Mapping[str, Any]) -> ExportedRows:
    """The rows in a line of an export; ValueError says what in it cannot be."""
    try:
        snapshot, crawl = _columns(Snapshot, line, SNAPSHOT_COLUMNS), _columns(Crawl, line["crawl"], CRAWL_COLUMNS)
        results = [_checked(_columns(ArchiveResult, one, RESULT_COLUMNS)) for one in line["results"][:MOST_NESTED]]
        notes = [_note(one) for one in line["notes"][:MOST_NESTED]]
        owners = clean(line["owner"]), clean(line["crawl"]["owner"])
    except (KeyError, TypeError, AttributeError, ValidationError) as error:
        problem = "; ".join(error.messages) if isinstance(error, ValidationError) else f"it has no good {error}"
        raise ValueError(f"Its row cannot be read: {problem}.") from None
    for one in (snapshot, crawl):
        one["status"] = one["status"] if one["status"] in _ENDED else "sealed"
    key, crawl_key = _key(snapshot.pop("id")), _key(crawl.pop("id"))
    return ExportedRows(
        key, snapshot, owners[0], crawl_key, crawl, owners[1],
        tuple((_key(one.pop("id")), _ended(one)) for one in results), tuple(notes),
    )  # fmt: skip


def _note(note: Mapping[str, Any]) -> tuple[UUID, str, str]:
    return _key(note["id"]), clean(note["author"]), clean(note["text"])[:LONGEST]


def _checked(result: Columns) -> Columns:
    """No name in it leads out of the folder of its page."""
    try:
        for name in ["any", *result["output_files"]]:
            check_name(result["plugin"], name, is_own=True)
    except SourceFileError as error:
        raise ValidationError(str(error)) from None
    if result["hook_name"] is not None and parse_hook_name(result["hook_name"]) is None:
        raise ValidationError(f"{result['hook_name']!r} is not a hook")
    return result


def _columns(model: type[models.Model], line: Mapping[str, Any], names: Sequence[str]) -> Columns:
    return {name: _value(model, name, line[name]) for name in names}


def _value(model: type[models.Model], name: str, value: object) -> Any:
    field = cast("models.Field[Any, Any]", model._meta.get_field(name))
    if value is None and field.null:
        return None
    target = field.target_field if isinstance(field, models.ForeignKey) else field
    found = target.to_python(clean(value) if isinstance(value, str) else value)
    if found is None or (field.flatchoices and found not in dict(field.flatchoices)):
        raise ValidationError(f"{name} is {value!r}")
    if isinstance(found, datetime) and timezone.is_naive(found):
        raise ValidationError(f"{name} has no time zone")
    if name in _OBJECTS and not (isinstance(found, dict) and all(isinstance(one, dict) for one in found.values())):
        raise ValidationError(f"{name} is not a list of files")
    target.run_validators(found)
    return found


def _key(value: object) -> UUID:
    """A key as all rows have it: they are in the order of the time in it."""
    key = value if isinstance(value, UUID) else UUID(str(value))
    if key.version != 7 or time_of(key) > timezone.now() + timedelta(days=1):
        raise ValueError(f"{key} is not a key of a row.")
    return key


def _ended(result: Columns) -> Columns:
    """What had not run yet never does here, as if it had been cancelled."""
    if result["status"] in ArchiveResultMachine.FINAL:
        return result
    return result | {"status": "skipped", "reason": Reason.CANCELLED.value}
