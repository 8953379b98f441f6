"""Stores a large body once for all pages of an owner: a `response` record in a file of its own, which pages hard-link.

    store/ab/<sha256>.warc.gz              the first record with this body, one gzip member
    <page>/warc/shared-<sha256>.warc.gz    the same file

At any instant a page's folder has the whole record or still the recorder's file: the record is written into the page's
folder, and linked into the store from there. Where another process was first, its record is linked instead. Nothing is
linked that was not read through: a power cut may have left a file of the right name without its content.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import os
import zlib

from archivebox.plugins.base.warc_file import COPY_SIZE, HEAD_MAX, record_at
from archivebox.storage.shared_bodies import linked_name, stored_path

from . import cdxj

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from archivebox.plugins.base.warc_file import WarcRecord

SHARED_MIN = 16_000  # bytes of a body; a file of its own costs a page 0.5 kB of records and an entry in its folder
MODE = 0o444
# Another disk, a file system without hard links (SMB answers in several ways), or a file that has all it can have.
CANNOT_LINK = frozenset(
    {
        errno.EXDEV, errno.EMLINK, errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EROFS,
        errno.ENOTDIR,
    }
)  # fmt: skip
_NEEDED = {"WARC-Record-ID", "WARC-Target-URI", "WARC-Date", "WARC-Payload-Digest"}
_TEMPORARY = ".shared.tmp"  # one process packs a page


class SharedBody:
    """A body in a file of its own: the `response` record that has it, and its line of the index."""

    def __init__(self, digest: str, record: WarcRecord, head: bytes, size: int) -> None:
        self.record = record
        self.line = cdxj.line(record, head, linked_name(digest), 0, size)

    @property
    def reference(self) -> dict[str, str]:
        """The fields by which a revisit record refers to it (WARC 1.1, 6.7)."""
        fields = self.record.fields
        return {
            "WARC-Refers-To": self.record.identifier,
            "WARC-Refers-To-Target-URI": fields["WARC-Target-URI"],
            "WARC-Refers-To-Date": fields["WARC-Date"],
        }


class BodySharing:
    """The shared bodies of one page while its recording is packed."""

    def __init__(self, store: str, folder: str) -> None:
        """`store`: the owner's; `folder`: where the page's WARC files are."""
        self._store, self._folder = store, folder
        self._temporary = os.path.join(folder, _TEMPORARY)
        self._known: dict[str, SharedBody] = {}

    def find(self, digest: str) -> SharedBody | None:
        """Return the body of this digest if it is in the page's folder already."""
        if digest not in self._known:
            body = read_shared_body(os.path.join(self._folder, linked_name(digest)), digest)
            if body is None:
                return None
            self._known[digest] = body
        return self._known[digest]

    def keep(self, digest: str, write: Callable[[BinaryIO], object]) -> SharedBody | None:
        """Have a record with this body in the page's folder: that of the store, else the one that `write` writes.

        None where that has another body than it says.
        """
        body = self.find(digest) or self._link_stored(digest) or self._write(digest, write)
        if body is not None:
            self._known[digest] = body
        return body

    def _link_stored(self, digest: str) -> SharedBody | None:
        """Link the record of the store; None where there is none, it is damaged, or links cannot be made."""
        self._remove_temporary()  # it may be a link: it is never written to
        try:
            os.link(stored_path(self._store, digest), self._temporary, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno not in CANNOT_LINK:
                raise
            return None
        body = read_shared_body(self._temporary, digest)
        if body is not None:
            self._put_into_place(digest)
        return body

    def _write(self, digest: str, write: Callable[[BinaryIO], object]) -> SharedBody | None:
        self._remove_temporary()
        with open(self._temporary, "xb") as file:
            write(file)
            os.fchmod(file.fileno(), os.fstat(file.fileno()).st_mode & MODE)  # as far as the umask lets others read
        body = read_shared_body(self._temporary, digest)
        if body is None:
            self._remove_temporary()
            return None
        self._put_into_place(digest)
        return self._offer(digest) or body

    def _offer(self, digest: str) -> SharedBody | None:
        """Link the page's record into the store; return the record that was put there first by somebody else."""
        own, stored = os.path.join(self._folder, linked_name(digest)), stored_path(self._store, digest)
        try:
            os.makedirs(os.path.dirname(stored), exist_ok=True)
            os.link(own, stored, follow_symlinks=False)
        except FileExistsError:
            return self._link_stored(digest) or self._replace_stored(own, stored)
        except OSError as error:
            if error.errno not in CANNOT_LINK:
                raise
        return None

    @staticmethod
    def _replace_stored(own: str, stored: str) -> None:
        """Put the page's record in the place of one that is damaged, or has as many links as there may be."""
        aside = os.path.join(os.path.dirname(stored), f".{os.path.basename(stored)}.{os.getpid()}.tmp")
        try:
            _unlink(aside)
            os.link(own, aside, follow_symlinks=False)
            os.replace(aside, stored)
        except FileNotFoundError:  # cleaned up meanwhile: then it is not shared
            pass
        except OSError as error:
            if error.errno not in CANNOT_LINK:
                raise

    def _put_into_place(self, digest: str) -> None:
        os.replace(self._temporary, os.path.join(self._folder, linked_name(digest)))
        self._remove_temporary()  # rename(2) leaves both names where they are of one file

    def _remove_temporary(self) -> None:
        _unlink(self._temporary)


def read_shared_body(path: str, digest: str) -> SharedBody | None:
    """Read a file through; None where it is not there, or is not one whole record with the body of this digest."""
    try:
        with gzip.open(path) as file:
            record = record_at(file, 0)
            if record is None or record.type != "response" or not record.fields.keys() >= _NEEDED:
                return None
            file.seek(record.body_offset)
            head, end, _ = file.read(HEAD_MAX).partition(b"\r\n\r\n")
            file.seek(record.body_offset + len(head + end))
            if _digest_of(file, record.block_size - len(head + end)) != digest or file.read(5) != b"\r\n\r\n":
                return None
            return SharedBody(digest, record, head + end, os.path.getsize(path))
    except (FileNotFoundError, EOFError, gzip.BadGzipFile, zlib.error, KeyError, ValueError):
        return None


def _digest_of(file: gzip.GzipFile, left: int) -> str:
    digest = hashlib.sha256()
    while left > 0 and (piece := file.read(min(left, COPY_SIZE))):
        digest.update(piece)
        left -= len(piece)
    return digest.hexdigest()


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
