"""Owns the files of an imported page: they are brought into its folder, hashed, signed and compared."""

import json
import logging
import os
import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from archivebox.accounts.permission import viewer_scope
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.outcomes import Status
from archivebox.core.evidence.signature import MANIFEST, KeyUnusableError, Signer
from archivebox.core.evidence.verification import Finding
from archivebox.core.outputs.output_files import columns_of
from archivebox.imports.page import ImportedFile, ImportedOutput, ImportedPage, NotImported
from archivebox.imports.transfer import (
    NEW_FILE,
    SourceFileError,
    Transfer,
    hash_file,
    remove_source,
    transfer_file,
    write_all,
)
from archivebox.lib.files import OutputFile, remove_tree
from archivebox.lib.files import mimetype_of as output_type_of
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
    """Each file that was transferred, as it was read."""
    files: int = 0
    size: int = 0


class PageWriter:
    """Writes the files of pages of one source for one owner. ``stop`` is called again and again, and may raise."""

    def __init__(self, source: str, username: str, transfer: Transfer, stop: Callable[[], None] = lambda: None) -> None:
        self._source, self._username = source, username
        self._transfer, self.stop = transfer, stop

    @cached_property
    def _signer(self) -> Signer | None:
        try:
            return Signer(DATA_FOLDER.keys)
        except KeyUnusableError as error:
            log.warning("Not signed: %s action=not_signed", error)
            return None

    def write(self, written: WrittenPage) -> None:
        """Bring the files of a page that was planned into its folder; other threads may write others meanwhile.

        PageNotImportedError where it cannot be kept; OSError where the collection cannot be written to. What an earlier
        attempt has left in its folder is replaced: no row may speak of it.
        """
        discard(written)
        folder = str(DATA_FOLDER.root / written.folder)
        made = set[str]()
        try:
            for output in written.page.outputs:
                self._transfer_files(written, output, folder, made)
        except PageNotImportedError:
            discard(written)
            raise
        if written.page.rows is None:
            self._keep_hashes(written, folder)
        written.files = len(written.entries)
        written.size = sum(entry["size"] for entry in written.entries.values())

    def remove_sources(self, page: ImportedPage) -> None:
        """Delete what was imported from the source."""
        folder = DATA_FOLDER.root / self.plan(page).folder
        for output in page.outputs:
            for file in output.files:
                self.stop()
                remove_source(Path(file.source), folder / output.plugin / file.name)

    def plan(self, page: ImportedPage) -> WrittenPage:
        """Where it will lie; PageNotImportedError where it cannot be kept."""
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

    def _transfer_files(self, written: WrittenPage, output: ImportedOutput, folder: str, made: set[str]) -> None:
        """``made``: folders that are there."""
        transferred = []
        for file in output.files:
            self.stop()
            name = f"{output.plugin}/{file.name}"
            try:
                entry = self._transfer_file(output.plugin, file, folder, made, is_own=written.page.rows is not None)
            except SourceFileError as error:
                written.left_out.append(NotImported(f"{written.url} {name}", str(error)))
                continue
            written.entries[name] = entry
            transferred.append((file.name, entry["size"]))
        written.results.append((output, _columns_of(transferred) if output.files else {}))

    def _transfer_file(
        self, plugin: str, file: ImportedFile, folder: str, made: set[str], *, is_own: bool
    ) -> FileEntry:
        check_name(plugin, file.name, is_own=is_own)
        target = f"{folder}/{plugin}/{file.name}"
        parent = target.rpartition("/")[0]
        try:
            for one in (folder, parent):
                if one not in made:
                    _make_folder(one)
                    made.add(one)
            hashed = transfer_file(file.source, target, self._transfer, self.stop)
        except (FileExistsError, NotADirectoryError):
            raise SourceFileError("Another file has this name.") from None
        if file.sha256 and hashed.sha256 != file.sha256:
            raise PageNotImportedError(f"{plugin}/{file.name} is not the file that was exported: it was changed since.")
        return {"sha256": hashed.sha256, "size": hashed.size, "mimetype": mimetype_of(f"/{file.name}"), "programs": []}

    def _keep_hashes(self, written: WrittenPage, folder: str) -> None:
        """Write the hashes, and their signature where there is a key."""
        if not written.entries:
            return
        manifest = manifest_of(written.entries)
        data = (json.dumps(manifest) + "\n").encode()  # with an indent it takes ten times as long
        signed = self._signer.files(data, written.key, written.url) if self._signer is not None else {}
        _make_folder(f"{folder}/{HASHES}")
        for name, content in ((MANIFEST, data), *signed.items()):
            _write_file(f"{folder}/{name}", content)
        now = timezone.now()
        output = ImportedOutput(HASHES, Status.SUCCEEDED, summary="hashes.json", started_at=now, ended_at=now)
        facts = {"root_hash": manifest["root_hash"], "files": len(written.entries)}
        sizes = [(name.partition("/")[2], len(content)) for name, content in ((MANIFEST, data), *signed.items())]
        written.results.append((output, {**_columns_of(sizes), "output_json": facts}))


def _write_file(path: str, content: bytes) -> None:
    descriptor = os.open(path, NEW_FILE, 0o666)  # three calls; open() makes six
    try:
        write_all(descriptor, content)
    finally:
        os.close(descriptor)


def _make_folder(folder: str) -> None:
    try:
        os.mkdir(folder)  # noqa: PTH102 - pathlib takes twice the time
    except OSError:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - as above


def _columns_of(files: Iterable[tuple[str, int]]) -> dict[str, Any]:
    """The columns that tell of the files in a plugin's folder, by name and size: nobody reads the folder for them."""
    listed = sorted(files, key=lambda file: "/" in file[0])
    return columns_of(OutputFile(name, size, output_type_of(name)) for name, size in listed)


def compare(written: WrittenPage, stop: Callable[[], None]) -> None:
    """Compare what lies in the collection with the hashes of what was read; PageNotImportedError if it differs."""
    folder, finding = str(DATA_FOLDER.root / written.folder), Finding()
    for name, entry in written.entries.items():
        found = hash_file(f"{folder}/{name}", entry["size"], stop)
        if found is None:
            finding.missing.append(name)
        elif found.sha256 != entry["sha256"]:
            finding.changed.append(name)
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
        raise SourceFileError(f"{plugin!r} is not a plugin that an import may write for.")
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise SourceFileError("It would lie outside of its page.")
    lengths = [len(os.fsencode(part)) for part in parts]
    if max(lengths) > _LONGEST_NAME or sum(lengths) > _LONGEST_PATH:
        raise SourceFileError("Its name is too long.")
