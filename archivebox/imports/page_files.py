"""Owns the files of one imported page: they are brought into its folder, hashed, signed and compared.

It needs no Django and no database: the processes that write pages start in 0.1 s.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

from archivebox.core.evidence.signer import MANIFEST, KeyUnusableError, Signer
from archivebox.core.outputs.output_files import columns_of
from archivebox.imports.transfer import (
    NEW_FILE,
    HashedFile,
    SourceFileError,
    Transfer,
    hash_file,
    transfer_file,
    write_all,
)
from archivebox.lib.files import OutputFile, remove_tree
from archivebox.lib.files import mimetype_of as output_type_of
from archivebox.plugins.base.hash_tree import FileEntry, manifest_of, mimetype_of

HASHES = PurePosixPath(MANIFEST).parent.name
_PLUGIN, _ANY_PLUGIN = re.compile(r"[a-z0-9][a-z0-9_]{0,63}"), re.compile(r"\w[\w .+-]{0,63}")
_LONGEST_NAME, _LONGEST_PATH = 255, 2000
Hashes = Mapping[str, tuple[str, int]]
"""SHA-256 and size of each file that was transferred, by its path in the folder of the page, as it was read."""


class PageNotImportedError(Exception):
    """A page that cannot be kept; the message is a sentence for people."""


class PlannedFiles(NamedTuple):
    """What is to be brought into the folder of a page."""

    folder: str
    key: str
    url: str
    is_own: bool
    """Of another ArchiveBox, whose hashes come with it, and the files of plugins of any name."""
    outputs: Sequence[tuple[str, Sequence[tuple[str, str, str]]]]
    """Plugin, and of each file its name, its path in the source, and its SHA-256 if the source says it."""


class WrittenFiles(NamedTuple):
    """What became of them."""

    problem: str = ""
    """Why the page cannot be kept; then nothing of it is there."""
    hashes: Hashes = {}
    left_out: Sequence[tuple[str, str]] = ()
    """Files that were not imported, and why."""
    columns: Sequence[Mapping[str, Any]] = ()
    """Those that tell of the files of each output."""
    hashes_columns: Mapping[str, Any] = {}
    """The same of the hashes; nothing where there are none."""
    unsigned: str = ""
    """Why there is no signature."""


class PageFilesWriter:
    """Writes the files of pages, one page after the other. ``stop`` is called again and again, and may raise.

    ``keys``: the folder of the key that hashes are signed with.
    """

    def __init__(self, keys: Path, transfer: Transfer, stop: Callable[[], None]) -> None:
        self._keys, self._transfer, self._stop = keys, transfer, stop
        self._signer: Signer | None = None
        self._unsigned = ""

    def write(self, planned: PlannedFiles) -> WrittenFiles:
        """Bring the files into the folder; what an earlier attempt has left there is replaced.

        OSError where the collection cannot be written to.
        """
        hashes, left_out, columns = dict[str, tuple[str, int]](), list[tuple[str, str]](), list[Mapping[str, Any]]()
        discard_folder(planned.folder)
        made = set[str]()
        try:
            for plugin, files in planned.outputs:
                written = self._transfer_files(plugin, files, planned, made, left_out)
                hashes |= {f"{plugin}/{name}": (hashed.sha256, hashed.size) for name, hashed in written}
                columns.append(_columns_of((name, hashed.size) for name, hashed in written) if files else {})
        except PageNotImportedError as error:
            discard_folder(planned.folder)
            return WrittenFiles(str(error))
        if planned.is_own or not hashes:
            return WrittenFiles("", hashes, left_out, columns)
        return WrittenFiles("", hashes, left_out, columns, self._keep_hashes(planned, hashes), self._unsigned)

    def differences(self, folder: str, hashes: Hashes) -> tuple[list[str], list[str]]:
        """Which files are missing in the folder, and which differ from what was read."""
        missing, changed = list[str](), list[str]()
        for name, (sha256, size) in hashes.items():
            found = hash_file(f"{folder}/{name}", size, self._stop)
            if found is None:
                missing.append(name)
            elif found.sha256 != sha256:
                changed.append(name)
        return missing, changed

    def _transfer_files(
        self,
        plugin: str,
        files: Iterable[tuple[str, str, str]],
        planned: PlannedFiles,
        made: set[str],
        left_out: list[tuple[str, str]],
    ) -> list[tuple[str, HashedFile]]:
        """``made``: folders that are there."""
        written = []
        for name, source, sha256 in files:
            try:
                check_name(plugin, name, is_own=planned.is_own)
                hashed = self._transfer_file(source, f"{plugin}/{name}", planned.folder, made)
            except SourceFileError as error:
                left_out.append((f"{plugin}/{name}", str(error)))
                continue
            if sha256 and hashed.sha256 != sha256:
                raise PageNotImportedError(f"{plugin}/{name} is not the file that was exported: it was changed since.")
            written.append((name, hashed))
        return written

    def _transfer_file(self, source: str, name: str, folder: str, made: set[str]) -> HashedFile:
        target = f"{folder}/{name}"
        try:
            for one in (folder, target.rpartition("/")[0]):
                if one not in made:
                    _make_folder(one)
                    made.add(one)
            return transfer_file(source, target, self._transfer, self._stop)
        except (FileExistsError, NotADirectoryError):
            raise SourceFileError("Another file has this name.") from None

    def _keep_hashes(self, planned: PlannedFiles, hashes: Hashes) -> Mapping[str, Any]:
        """Write the hashes, and their signature where there is a key. Returns the columns that tell of them."""
        manifest = manifest_of({name: _entry(name, *hashed) for name, hashed in hashes.items()})
        data = json.dumps(manifest, separators=(",", ":")).encode() + b"\n"
        files = {MANIFEST: data, **self._signed(data, planned)}
        _make_folder(f"{planned.folder}/{HASHES}")
        for name, content in files.items():
            _write_file(f"{planned.folder}/{name}", content)
        facts = {"root_hash": manifest["root_hash"], "files": len(hashes)}
        sizes = ((name.partition("/")[2], len(content)) for name, content in files.items())
        return {**_columns_of(sizes), "output_json": facts}

    def _signed(self, data: bytes, planned: PlannedFiles) -> dict[str, bytes]:
        """The files of the signature."""
        if self._signer is None and not self._unsigned:
            try:
                self._signer = Signer(self._keys)
            except KeyUnusableError as error:
                self._unsigned = str(error)
        return {} if self._signer is None else self._signer.files(data, UUID(planned.key), planned.url)


def _entry(name: str, sha256: str, size: int) -> FileEntry:
    mimetype = mimetype_of(f"/{name.partition('/')[2]}")
    return {"sha256": sha256, "size": size, "mimetype": mimetype, "programs": []}


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


def discard_folder(folder: str) -> None:
    """Delete the folder of a page that has no row."""
    if os.path.isdir(folder):  # noqa: PTH112 - asked for each page
        remove_tree(Path(folder))


@lru_cache(maxsize=4096)  # pages have files of the same names
def check_name(plugin: str, name: str, *, is_own: bool = False) -> None:
    """SourceFileError for what would lie anywhere but in the plugin's folder, or cannot be a file's name.

    ``is_own``: of another ArchiveBox, whose hashes come with it, and the files of plugins of any name.
    """
    if not (_ANY_PLUGIN.fullmatch(plugin) if is_own else _PLUGIN.fullmatch(plugin) and plugin != HASHES):
        raise SourceFileError(f"{plugin!r} is not a plugin that an import may write for.")
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise SourceFileError("It would lie outside of its page.")
    if name.isascii() and len(name) <= _LONGEST_NAME:
        return
    lengths = [len(os.fsencode(part)) for part in parts]
    if max(lengths) > _LONGEST_NAME or sum(lengths) > _LONGEST_PATH:
        raise SourceFileError("Its name is too long.")
