"""Owns rows of another ArchiveBox: read from its export, and written here with the keys that they had."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, models
from django.utils import timezone

from archivebox.base_models.rows import time_of
from archivebox.base_models.table import table_of
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.hooknames import parse_hook_name
from archivebox.contract.reasons import Reason
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.note import LONGEST, Note
from archivebox.core.snapshot import Snapshot
from archivebox.core.statemachines import ArchiveResultMachine
from archivebox.crawls.crawl import Crawl
from archivebox.export.rows import CRAWL_COLUMNS, RESULT_COLUMNS, SNAPSHOT_COLUMNS
from archivebox.imports.page import Columns, ExportedRows, NotReadableError
from archivebox.imports.page_files import WrittenPage, check_name
from archivebox.imports.text import clean
from archivebox.imports.transfer import SourceFileError
from archivebox.imports.write import known_owner

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


# --- writing ------------------------------------------------------------------------------------------------------


def write_exported(pages: Sequence[WrittenPage], importer: User) -> None:
    """The rows of these pages, in the transaction of the caller; NotReadableError where they contradict others."""
    try:
        _write_exported(pages, importer)
    except IntegrityError:
        raise NotReadableError("The export has rows that contradict each other, or those that are here.") from None


def _write_exported(pages: Sequence[WrittenPage], importer: User) -> None:
    for page in pages:
        rows = page.page.rows
        assert rows is not None  # noqa: S101 - those pages are given
        owner = _user(rows.owner, importer)
        _write_crawl(rows, importer)
        own = {"crawl_id": rows.crawl_id, "created_by_id": owner.pk, "output_dir": page.folder, "retry_at": None}
        domain = page.folder.rsplit("/", 2)[1]
        table_of(Snapshot).insert([(rows.id, rows.snapshot | own | {"url": page.url, "domain": domain})])
        folder = DATA_FOLDER.root / page.folder
        more = {"snapshot_id": rows.id, "retry_at": None}
        table_of(ArchiveResult).insert(
            (key, one | more | {"pwd": f"{folder}/{one['plugin']}"}) for key, one in rows.results
        )
        authors = {name: _author(name, importer) for _, name, _ in rows.notes}
        Note.objects.bulk_create(
            Note(id=key, snapshot_id=rows.id, author=authors[name], text=text) for key, name, text in rows.notes
        )


def _write_crawl(rows: ExportedRows, importer: User) -> None:
    """Once for all of its pages."""
    if Crawl.objects.filter(pk=rows.crawl_id).exists():
        return
    owner = _user(rows.crawl_owner, importer)
    folder = DATA_FOLDER.crawl_dir(owner.username, time_of(rows.crawl_id).date(), rows.crawl_id)
    own = {"created_by_id": owner.pk, "output_dir": DATA_FOLDER.relative(folder), "retry_at": None}
    table_of(Crawl).insert([(rows.crawl_id, rows.crawl | own)])


def _author(name: str, importer: User) -> User | None:
    """Nobody, where the author is not known here, or another than whoever imports may speak for."""
    return _user(name, importer) if known_owner(name, importer.username) == name else None


def _user(name: str, importer: User) -> User:
    return User.objects.get(username=known_owner(name, importer.username))
