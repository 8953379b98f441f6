"""Owns the files of an imported page: they are brought into its folder, hashed, signed and compared."""

import json
import logging
import os
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from archivebox.accounts.permission import viewer_scope
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.outcomes import Status
from archivebox.core.evidence.signature import MANIFEST, KeyUnusableError, sign
from archivebox.core.evidence.verification import verify
from archivebox.core.outputs.output_files import output_columns
from archivebox.imports.page import ImportedFile, ImportedOutput, ImportedPage, NotImported
from archivebox.imports.transfer import SourceFileError, Transfer, remove_source, take_file
from archivebox.lib.files import remove_tree
from archivebox.lib.jsonl import JSON
from archivebox.lib.urls import BadUrl, parse_url, path_domain_of
from archivebox.plugins.base.hash_tree import FileEntry, manifest_of, mimetype_of

log = logging.getLogger(__name__)

HASHES = PurePosixPath(MANIFEST).parent.name
_PLUGIN, _ANY_PLUGIN = re.compile(r"[a-z0-9][a-z0-9_]{0,63}"), re.compile(r"\w[\w .+-]{0,63}")
_SCHEMES = frozenset({"http", "https", "ftp", "file"})
"""What pages may have been archived from: all lists link to their URLs."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_NAME, _LONGEST_PATH = 255, 2000


class PageNotImportedError(Exception):
    """A page that cannot be kept; the message is a sentence for people."""


@dataclass(slots=True)
class WrittenPage:
    """A page whose files are in the collection, and not its rows yet."""

    key: UUID
    page: ImportedPage
    url: str
    folder: str
    results: list[tuple[ImportedOutput, dict[str, Any]]] = field(default_factory=list)
    """Each output with the columns that tell of its files."""
    left_out: list[NotImported] = field(default_factory=list)
    entries: dict[str, FileEntry] = field(default_factory=dict)
    """Each file that was taken, as it was read."""
    files: int = 0
    size: int = 0


class PageWriter:
    """Writes the files of pages of one source for one owner. ``stop`` is called before each file, and may raise."""

    def __init__(self, source: str, username: str, transfer: Transfer, stop: Callable[[], None] = lambda: None) -> None:
        self._source, self._username = source, username
        self._transfer, self.stop = transfer, stop

    def write(self, page: ImportedPage) -> WrittenPage:
        """PageNotImportedError where it cannot be kept; OSError where the collection cannot be written to.

        What an earlier attempt has left in its folder is replaced: no row may speak of it.
        """
        written = self._plan(page)
        folder = DATA_FOLDER.root / written.folder
        if folder.is_dir():
            remove_tree(folder)
        entries: dict[str, FileEntry] = {}
        try:
            for output in page.outputs:
                self._take_files(written, output, folder, entries)
        except PageNotImportedError:
            discard(written)
            raise
        if page.rows is None:
            written.results += [(one, output_columns(folder / one.plugin) if one.files else {}) for one in page.outputs]
            if entries:
                self._keep_hashes(written, folder, entries)
        written.entries = entries
        written.files = len(entries)
        written.size = sum(entry["size"] for entry in entries.values())
        return written

    def remove_sources(self, page: ImportedPage) -> None:
        """Delete what was imported from the source."""
        folder = DATA_FOLDER.root / self._plan(page).folder
        for output in page.outputs:
            for file in output.files:
                self.stop()
                remove_source(file.source, folder / output.plugin / file.name)

    def _plan(self, page: ImportedPage) -> WrittenPage:
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

    def _take_files(
        self, written: WrittenPage, output: ImportedOutput, folder: Path, entries: dict[str, FileEntry]
    ) -> None:
        for file in output.files:
            self.stop()
            name = f"{output.plugin}/{file.name}"
            try:
                entries[name] = self._take_file(output.plugin, file, folder, is_own=written.page.rows is not None)
            except SourceFileError as error:
                written.left_out.append(NotImported(f"{written.url} {name}", str(error)))

    def _take_file(self, plugin: str, file: ImportedFile, folder: Path, *, is_own: bool) -> FileEntry:
        check_name(plugin, file.name, is_own=is_own)
        target = folder / plugin / file.name
        try:
            os.makedirs(target.parent, exist_ok=True)  # noqa: PTH103 - pathlib's takes twice the time
            taken = take_file(file.source, target, self._transfer)
        except (FileExistsError, NotADirectoryError):
            raise SourceFileError("Another file has this name.") from None
        if file.sha256 and taken.sha256 != file.sha256:
            raise PageNotImportedError(f"{plugin}/{file.name} is not the file that was exported: it was changed since.")
        return {"sha256": taken.sha256, "size": taken.size, "mimetype": mimetype_of(target.name), "programs": []}

    def _keep_hashes(self, written: WrittenPage, folder: Path, entries: dict[str, FileEntry]) -> None:
        manifest = manifest_of(entries)
        (folder / HASHES).mkdir()
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
        self._sign(written, folder)
        now = timezone.now()
        output = ImportedOutput(HASHES, Status.SUCCEEDED, summary="hashes.json", started_at=now, ended_at=now)
        facts = {"root_hash": manifest["root_hash"], "files": len(entries)}
        written.results.append((output, {**output_columns(folder / HASHES), "output_json": facts}))

    @staticmethod
    def _sign(written: WrittenPage, folder: Path) -> None:
        try:
            sign(folder, DATA_FOLDER.keys, written.key, written.url)
        except KeyUnusableError as error:
            log.warning("Not signed: %s action=not_signed snapshot=%s", error, written.key)


def compare(written: WrittenPage) -> None:
    """Compare what lies in the collection with the hashes of what was read; PageNotImportedError if it differs."""
    folder = DATA_FOLDER.root / written.folder
    if not written.files:
        return
    manifest: JSON = {"files": {name: {"sha256": entry["sha256"]} for name, entry in written.entries.items()}}
    finding = verify(folder, manifest, seconds=float("inf"))
    if not finding.is_whole:
        raise PageNotImportedError(f"Its files are not those of the source. {' '.join(finding.problems)}")


def discard(written: WrittenPage) -> None:
    """Delete the files of a page that gets no row."""
    folder = DATA_FOLDER.root / written.folder
    if folder.is_dir():
        remove_tree(folder)


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


def check_name(plugin: str, name: str, *, is_own: bool = False) -> None:
    """SourceFileError for what would lie anywhere but in the plugin's folder, or cannot be a file's name.

    ``is_own``: of another ArchiveBox, whose hashes come with it, and the files of plugins of any name.
    """
    if not (_ANY_PLUGIN.fullmatch(plugin) if is_own else _PLUGIN.fullmatch(plugin) and plugin != HASHES):
        raise SourceFileError(f"{plugin!r} is no plugin that an import may write for.")
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise SourceFileError("It would lie outside of its page.")
    lengths = [len(os.fsencode(part)) for part in parts]
    if max(lengths) > _LONGEST_NAME or sum(lengths) > _LONGEST_PATH:
        raise SourceFileError("Its name is too long.")
