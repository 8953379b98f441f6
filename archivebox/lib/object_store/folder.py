"""Owns objects as files in a folder, such as one that several machines share.

<folder>/<key>                      an object
<folder>/.uploads/<id>/key          of an unfinished upload: its key
<folder>/.uploads/<id>/data         and what was received so far
"""

import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from archivebox.lib.object_store.interface import (
    BLOCK,
    ListedObject,
    ObjectMissingError,
    SourceWindow,
    StoreRefusedError,
    StoreUnavailableError,
    UnfinishedUpload,
    UploadMissingError,
    check_key,
)

_UPLOADS = ".uploads"
_REFUSALS = {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.EEXIST,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.ELOOP,
}
"""Numbers of errors that do not pass by waiting."""
_MAKE_FOLDER_ATTEMPTS = 10
"""Another process may delete the last object of a folder, and the folder, while this one stores the next."""


class FolderStore:
    """An :class:`~archivebox.lib.object_store.ObjectStore` in a folder, which has to exist."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put_file(self, key: str, source: BinaryIO, size: int, upload: str = "") -> None:
        check_key(key)
        window = SourceWindow(source, 0, size)
        with window.failing_as_source(), _translated(self._folder):
            if upload and self._is_complete(key, window):
                self.abort_upload(key, upload)
                return
            received = self._folder_of(upload or self._begin(key))
            try:
                self._receive(received, key, window)
            except BaseException:
                if not upload:
                    shutil.rmtree(received, ignore_errors=True)
                raise

    def begin_upload(self, key: str) -> str:
        check_key(key)
        with _translated(self._folder):
            return self._begin(key)

    def abort_upload(self, key: str, upload: str) -> None:
        check_key(key)
        with _translated(self._folder), suppress(FileNotFoundError, UploadMissingError):
            shutil.rmtree(self._folder_of(upload))

    def uploads(self, prefix: str) -> Iterator[UnfinishedUpload]:
        with _translated(self._folder):
            for folder in sorted(self._existing().glob(f"{_UPLOADS}/*")):
                with suppress(FileNotFoundError):  # completed at this moment
                    key, begun = (folder / "key").read_text("utf-8"), (folder / "key").stat().st_mtime
                    if key.startswith(prefix):
                        yield UnfinishedUpload(key, folder.name, datetime.fromtimestamp(begun, UTC))

    def put_bytes(self, key: str, data: bytes) -> None:
        check_key(key)
        with _translated(self._folder):
            received = self._folder_of(self._begin(key))
            try:
                _write_durably(received / "data", data)
                self._complete(received, key)
            except BaseException:
                shutil.rmtree(received, ignore_errors=True)
                raise

    def read(self, key: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        with _translated(self._folder), self._opened(key) as file:
            left = os.fstat(file.fileno()).st_size if stop is None else stop
            left -= start
            file.seek(start)
            while left > 0 and (block := file.read(min(BLOCK, left))):
                left -= len(block)
                yield block

    def size_of(self, key: str) -> int | None:
        path = self._existing() / check_key(key)
        with _translated(self._folder):
            try:
                return path.stat().st_size if path.is_file() else None
            except FileNotFoundError:
                return None

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            path = self._existing() / check_key(key)
            with _translated(self._folder):
                with suppress(FileNotFoundError, NotADirectoryError):
                    path.unlink()
                self._remove_empty_folders(path.parent)

    def list(self, prefix: str) -> Iterator[ListedObject]:
        with _translated(self._folder):
            yield from _list(self._existing(), "", prefix)

    def _existing(self) -> Path:
        if not self._folder.is_dir():
            raise StoreRefusedError(
                f"The folder {self._folder} does not exist. Create it, or mount what is to be there."
            )
        return self._folder

    def _folder_of(self, upload: str) -> Path:
        folder = self._existing() / _UPLOADS
        if not upload.isalnum():
            raise UploadMissingError(f"There is no upload {upload!r}.")
        return folder / upload

    def _begin(self, key: str) -> str:
        upload = uuid4().hex
        uploads = self._existing() / _UPLOADS
        uploads.mkdir(mode=0o700, exist_ok=True)
        (uploads / upload).mkdir(mode=0o700)
        _write_durably(uploads / upload / "key", key.encode())
        return upload

    def _receive(self, received: Path, key: str, source: SourceWindow) -> None:
        """Copy what is not there yet, and make it the object."""
        if not (received / "key").exists():
            raise UploadMissingError(f"There is no upload {received.name!r} of {key!r}.")
        with (received / "data").open("ab+") as file:
            same = _same_bytes(file, source)
            file.truncate(same)
            source.seek(same)
            for block in source.blocks():
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        self._complete(received, key)

    def _is_complete(self, key: str, source: SourceWindow) -> bool:
        """Whether the object is there; UploadMissingError if it has other bytes than the source."""
        size = self.size_of(key)
        if size is None:
            return False
        with self._opened(key) as file:
            if size != len(source) or _same_bytes(file, source) != size:
                raise UploadMissingError(f"{key!r} was stored from other bytes.")
        return True

    def _complete(self, received: Path, key: str) -> None:
        path = self._folder / key
        _retry_missing(lambda: _move(received / "data", path))
        folder = path.parent
        while folder != self._folder.parent:  # any of them may be new
            _fsync_folder(folder)
            folder = folder.parent
        shutil.rmtree(received)

    @contextmanager
    def _opened(self, key: str) -> Iterator[BinaryIO]:
        try:
            with (self._existing() / check_key(key)).open("rb") as file:
                yield file
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise ObjectMissingError(f"There is no object {key!r} in {self._folder}.") from None

    def _remove_empty_folders(self, folder: Path) -> None:
        while folder != self._folder:
            try:
                folder.rmdir()
            except OSError:  # not empty, or gone
                return
            folder = folder.parent


def _list(folder: Path, path: str, prefix: str) -> Iterator[ListedObject]:
    """Below one folder, in the order of keys: a folder sorts as its name with the ``/`` that follows it."""
    try:
        with os.scandir(folder / path) as scanned:
            entries = [(f"{path}{entry.name}" + "/" * entry.is_dir(), entry) for entry in scanned]
    except FileNotFoundError:  # its last object was deleted at this moment
        return
    for key, entry in sorted(entries, key=lambda each: os.fsencode(each[0])):
        if entry.name.startswith("."):
            continue
        if key.endswith("/"):
            if key.startswith(prefix) or prefix.startswith(key):
                yield from _list(folder, key, prefix)
        elif key.startswith(prefix):
            with suppress(FileNotFoundError):
                status = entry.stat()
                yield ListedObject(key, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))


def _same_bytes(file: BinaryIO, source: SourceWindow) -> int:
    """How many bytes both have in common from their start, in whole blocks, or to the end of both."""
    file.seek(0)
    source.seek(0)
    same = 0
    for block in source.blocks():
        if file.read(len(block)) != block:
            break
        same += len(block)
    return same


def _move(received: Path, path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    received.replace(path)


def _retry_missing(act: Callable[[], None]) -> None:
    for _ in range(1, _MAKE_FOLDER_ATTEMPTS):
        with suppress(FileNotFoundError):
            act()
            return
    act()


def _write_durably(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _fsync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems cannot sync a folder
            raise
    finally:
        os.close(descriptor)


@contextmanager
def _translated(folder: Path) -> Iterator[None]:
    """The errors of the file system as those of a store."""
    try:
        yield
    except OSError as error:
        message = f"The folder {folder}: {error.strerror or error}"
        raise (StoreRefusedError if error.errno in _REFUSALS else StoreUnavailableError)(message) from error
