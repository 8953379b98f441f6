"""Owns the files of one imported page: they are copied or linked into its folder, hashed, compared and signed."""

import errno
import hashlib
import json
import logging
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any, NamedTuple
from uuid import UUID

from django.utils import timezone

from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.outcomes import Status
from archivebox.core.evidence.signer import MANIFEST, KeyUnusableError, Signer
from archivebox.core.evidence.verification import Finding
from archivebox.core.outputs.output_files import columns_of
from archivebox.imports.page import ImportedFile, ImportedOutput, ImportedPage, NotImported
from archivebox.lib.files import OutputFile, remove_tree
from archivebox.lib.files import mimetype_of as output_type_of
from archivebox.plugins.base.hash_tree import FileEntry, manifest_of, mimetype_of

BLOCK = 1024 * 1024
"""Bytes read at a time."""
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags to open a file that is not there yet."""
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CANNOT_LINK = frozenset({errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.EOPNOTSUPP})
"""Another disk, a file of somebody else, too many links, or a file system without them: then the file is copied."""


class Transfer(StrEnum):
    """What becomes of the files of the source."""

    COPY = "copy"
    LINK = "link"
    """The collection and the source share the files' content (hard links), where they lie on one disk."""
    MOVE = "move"
    """The same; when all was imported and compared, the files are removed from the source."""


class SourceFileError(Exception):
    """A file of the source that cannot be read; the message says why."""


class HashedFile(NamedTuple):
    """The content of a file, as it was read."""

    sha256: str
    size: int


def transfer_file(source: str, target: str, transfer: Transfer, stop: Callable[[], None]) -> HashedFile:
    """Have the content of ``source`` at ``target``, whose folder is there; SourceFileError, OSError of the target.

    ``stop`` is called before each block, and may raise.
    """
    descriptor = _open(source)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise SourceFileError("It is not a regular file.")
        if transfer is not Transfer.COPY and _link(source, target, status):
            return _hash(descriptor, status.st_size, stop)
        return _copy(descriptor, target, status, stop)
    finally:
        os.close(descriptor)


def hash_file(path: str, size: int, stop: Callable[[], None]) -> HashedFile | None:
    """What a file is now, which had this size; None where there is none, or it cannot be read."""
    try:
        descriptor = _open(path)
    except SourceFileError:
        return None
    try:
        return _hash(descriptor, size, stop)
    except SourceFileError:
        return None
    finally:
        os.close(descriptor)


def _copy(descriptor: int, target: str, status: os.stat_result, stop: Callable[[], None]) -> HashedFile:
    """The hash is that of what was read, so that a look at what was written can be compared with it."""
    written = os.open(target, NEW_FILE, 0o666)
    try:
        hashed = _hash(descriptor, status.st_size, stop, written)
        os.utime(written, ns=(status.st_atime_ns, status.st_mtime_ns))
    except SourceFileError:
        os.unlink(target)  # noqa: PTH108 - a Path for each file costs more than its hash
        raise
    finally:
        os.close(written)
    return hashed


def _open(source: str) -> int:
    """A descriptor of what is no link."""
    try:
        return os.open(source, _FLAGS)
    except (OSError, ValueError) as error:
        is_link = isinstance(error, OSError) and error.errno == errno.ELOOP
        raise SourceFileError("It is a symbolic link." if is_link else f"It cannot be read: {error}.") from None


def _link(source: str, target: str, status: os.stat_result) -> bool:
    """Whether ``target`` is now another name of the very file that was opened."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno in _CANNOT_LINK:
            return False
        raise
    if os.path.samestat(status, os.lstat(target)):
        return True
    os.unlink(target)  # noqa: PTH108 - as above
    raise SourceFileError("It was replaced while it was read.")


def _hash(descriptor: int, size: int, stop: Callable[[], None], target: int | None = None) -> HashedFile:
    """The rest of a file of about this size, written to ``target`` meanwhile; SourceFileError."""
    most = min(size + 1, BLOCK)  # a buffer of a megabyte for each small file would take longer than its content
    digest, count, is_over = hashlib.sha256(), 0, False
    while not is_over:
        stop()
        block = _read(descriptor, most)
        digest.update(block)
        count += len(block)
        if target is not None and block:
            write_all(target, block)
        is_over = not block or (count == size and len(block) < most)  # its end: a call less for each small file
    return HashedFile(digest.hexdigest(), count)


def _read(descriptor: int, most: int) -> bytes:
    try:
        return os.read(descriptor, most)
    except OSError as error:
        raise SourceFileError(f"It cannot be read: {error.strerror}.") from None


def write_all(target: int, data: bytes) -> None:
    """Write to a descriptor, however often that takes."""
    count = os.write(target, data)
    while count < len(data):
        count += os.write(target, memoryview(data)[count:])


def remove_source(source: Path, target: Path) -> None:
    """Delete a file of the source whose content is in the collection; it stays where that has another size."""
    with suppress(FileNotFoundError):
        if source.lstat().st_size == target.stat().st_size:
            source.unlink()


# --- all files of a page ----------------------------------------------------------------------------------------------
log = logging.getLogger(__name__)
HASHES = PurePosixPath(MANIFEST).parent.name
_PLUGIN, _ANY_PLUGIN = re.compile(r"[a-z0-9][a-z0-9_]{0,63}"), re.compile(r"\w[\w .+-]{0,63}")
_LONGEST_NAME, _LONGEST_PATH = 255, 2000


class PageNotImportedError(Exception):
    """A page that cannot be kept; the message is a sentence for people."""


@dataclass(slots=True)
class WrittenPage:
    """A page whose files are in the collection, and not its rows yet. ``folder``: below the collection."""

    key: UUID
    page: ImportedPage
    url: str
    folder: str
    results: list[tuple[ImportedOutput, Mapping[str, Any]]] = field(default_factory=list)
    """Each output with the columns that tell of its files."""
    left_out: list[NotImported] = field(default_factory=list)
    """Files that were not imported."""
    hashes: dict[str, HashedFile] = field(default_factory=dict)
    """Of each file that was brought here, by its path in the folder, as it was read."""

    @property
    def is_own(self) -> bool:
        """Of another ArchiveBox, whose hashes come with it, and the files of plugins of any name."""
        return self.page.rows is not None

    @property
    def path(self) -> str:
        """Its folder, from the root of the file system."""
        return f"{DATA_FOLDER.root}/{self.folder}"

    @property
    def size(self) -> int:
        return sum(file.size for file in self.hashes.values())

    def discard(self) -> None:
        """Delete its files: it gets no row."""
        if os.path.isdir(self.path):  # noqa: PTH112 - asked for each page
            remove_tree(Path(self.path))


class PageFilesWriter:
    """Writes the files of pages, on any thread. ``stop`` is called again and again, and may raise.

    ``keys``: the folder of the key that hashes are signed with.
    """

    def __init__(self, keys: Path, transfer: Transfer, stop: Callable[[], None]) -> None:
        self._keys, self._transfer, self._stop = keys, transfer, stop
        self._signers = list[Signer | None]()
        """One, or None where there is no key; nothing before it was needed."""
        self._lock = Lock()

    def write(self, written: WrittenPage) -> None:
        """Bring the files of a page into its folder, and look that they are what was read.

        What an earlier attempt has left there is replaced. PageNotImportedError where the page cannot be kept: then
        nothing of it is there. OSError where the collection cannot be written to.
        """
        written.discard()
        made = set[str]()
        try:
            for output in written.page.outputs:
                files = [self._transfer_file(written, output.plugin, file, made) for file in output.files]
                columns = _columns_of((name, file.size) for name, file in filter(None, files)) if files else {}
                written.results.append((output, columns))
            self._compare(written)
        except PageNotImportedError:
            written.discard()
            raise
        if written.hashes and not written.is_own:
            self._write_hashes(written)

    def _transfer_file(
        self, written: WrittenPage, plugin: str, file: ImportedFile, made: set[str]
    ) -> tuple[str, HashedFile] | None:
        """Its name and content; None where it is left out. ``made``: folders that are there."""
        name = f"{plugin}/{file.name}"
        try:
            check_name(plugin, file.name, is_own=written.is_own)
            hashed = self._bring(file.source, written.path, name, made)
        except SourceFileError as error:
            written.left_out.append(NotImported(f"{written.url} {name}", str(error)))
            return None
        if file.sha256 and hashed.sha256 != file.sha256:
            raise PageNotImportedError(f"{name} is not the file that was exported: it was changed since.")
        written.hashes[name] = hashed
        return file.name, hashed

    def _bring(self, source: str, folder: str, name: str, made: set[str]) -> HashedFile:
        target = f"{folder}/{name}"
        try:
            for one in (folder, target.rpartition("/")[0]):
                if one not in made:
                    _make_folder(one)
                    made.add(one)
            return transfer_file(source, target, self._transfer, self._stop)
        except (FileExistsError, NotADirectoryError):
            raise SourceFileError("Another file has this name.") from None

    def _compare(self, written: WrittenPage) -> None:
        """PageNotImportedError where a file is not what was read."""
        finding, folder = Finding(missing=[], changed=[]), written.path
        for name, hashed in written.hashes.items():
            found = hash_file(f"{folder}/{name}", hashed.size, self._stop)
            if found is None:
                finding.missing.append(name)
            elif found.sha256 != hashed.sha256:
                finding.changed.append(name)
        if not finding.is_whole:
            raise PageNotImportedError(f"Its files differ from the source. {' '.join(finding.problems)}")

    def _write_hashes(self, written: WrittenPage) -> None:
        """Write the hashes as a result, and their signature where there is a key."""
        manifest = manifest_of({name: _entry(name, *hashed) for name, hashed in written.hashes.items()})
        data, signer, now = json.dumps(manifest, separators=(",", ":")).encode() + b"\n", self._signer(), timezone.now()
        files = {MANIFEST: data, **(signer.files(data, written.key, written.url) if signer else {})}
        _make_folder(f"{written.path}/{HASHES}")
        for name, content in files.items():
            _write_file(f"{written.path}/{name}", content)
        facts = {"root_hash": manifest["root_hash"], "files": len(written.hashes)}
        columns = _columns_of((name.partition("/")[2], len(content)) for name, content in files.items())
        output = ImportedOutput(HASHES, Status.SUCCEEDED, summary="hashes.json", started_at=now, ended_at=now)
        written.results.append((output, {**columns, "output_json": facts}))

    def _signer(self) -> Signer | None:
        """None where there is no key that can be used, which is logged once."""
        with self._lock:
            if not self._signers:
                try:
                    self._signers.append(Signer(self._keys))
                except KeyUnusableError as error:
                    log.warning("Not signed: %s action=not_signed", error)
                    self._signers.append(None)
            return self._signers[0]


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
