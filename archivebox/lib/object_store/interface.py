"""Owns what every object store offers, and its errors."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import BinaryIO, NamedTuple, Protocol


class ObjectStoreError(Exception):
    """What was asked of an object store was not done; the message is for people."""


class StoreUnavailableError(ObjectStoreError):
    """The store does not answer, or cannot do it now. The same call may succeed later."""


class StoreRefusedError(ObjectStoreError):
    """The store refuses, and will go on doing so until its settings, credentials or permissions are changed."""


class ObjectMissingError(ObjectStoreError):
    """No object has this key."""


class ObjectChangedError(ObjectStoreError):
    """The object was replaced while it was read. What was read so far belongs to the former one."""


class UploadMissingError(ObjectStoreError):
    """The store knows the upload no more: it was completed, aborted, or removed by a rule of the bucket."""


class RequestLimits(NamedTuple):
    """Seconds until a connection stands and until more of an answer comes, and how often a request is made at most."""

    connect: float = 5.0
    answer: float = 30.0
    attempts: int = 3


class ListedObject(NamedTuple):
    """One object of a store: size in bytes, and when it was stored, by the clock of the store."""

    key: str
    size: int
    modified: datetime


class UnfinishedUpload(NamedTuple):
    """An upload that was begun and neither completed nor aborted."""

    key: str
    upload: str
    begun: datetime


class ObjectStore(Protocol):
    """Objects under keys such as ``pages/0198…/1.zip``.

    A key has parts that are separated by ``/``; none is empty, longer than 255 bytes, or begins with a dot, and no key
    is the beginning of another up to a ``/``. ValueError for other keys. An object appears whole or not at all. Every
    method may raise StoreUnavailableError and StoreRefusedError, and returns within the store's time limits.
    Objects may be used by several threads, and not by a fork of the process that made the store.
    """

    def put_file(self, key: str, source: BinaryIO, size: int, upload: str = "") -> None:
        """Store ``size`` bytes of a seekable source, read in blocks; durable on return.

        ``upload``: from ``begin_upload``, for a key that has no object yet. Parts that an earlier call stored under it
        are compared with the source, and only others are sent. Where that call did all and its caller did not hear of
        it, this one returns at once.
        UploadMissingError if there is no such upload, or the object was stored from other bytes. Without ``upload``
        nothing is left where this fails. An OSError of the source, or EOFError if it has fewer bytes, is passed on.
        """
        ...

    def begin_upload(self, key: str) -> str:
        """The id of an upload that can be resumed by any process."""
        ...

    def abort_upload(self, key: str, upload: str) -> None:
        """Remove an upload with its parts; nothing if there is none."""
        ...

    def uploads(self, prefix: str) -> Iterator[UnfinishedUpload]:
        """All unfinished uploads of keys that begin with ``prefix``."""
        ...

    def put_bytes(self, key: str, data: bytes) -> None:
        """Store a small object; durable on return."""
        ...

    def read(self, key: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """The bytes from ``start`` up to ``stop`` (not included; None: all) in blocks of at most a few hundred kB.

        Nothing beyond the object's end. A connection that breaks is continued where it broke. ObjectMissingError,
        ObjectChangedError. Nothing is asked of the store before the first block is.
        """
        ...

    def size_of(self, key: str) -> int | None:
        """The object's size in bytes; None if there is none."""
        ...

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; those that are not there are passed over."""
        ...

    def list(self, prefix: str) -> Iterator[ListedObject]:
        """All objects whose keys begin with ``prefix``, in the order of the bytes of their keys."""
        ...
