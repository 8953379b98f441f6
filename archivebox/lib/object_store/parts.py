"""Owns in which parts an object is sent, and which keys are valid."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

from archivebox.lib.seekable_reader import SeekableReader

PART = 8_000_000
"""Bytes. An object of at most so many is sent in one request. (S3 takes parts of 5 MiB and more, except the last.)"""
MOST_PARTS = 1_000
"""S3 takes 10,000, and parts of up to 5 GiB; other servers take 1,000."""
BLOCK = 256 * 1024
"""Bytes that are in memory at a time."""
_KEY_MAX = 1_024
_NAME_MAX = 255


class Part(NamedTuple):
    """A range of an object; numbers begin at 1."""

    number: int
    start: int
    size: int


def is_sent_at_once(size: int) -> bool:
    """Whether an object of so many bytes needs no upload that can be resumed."""
    return size <= PART


def parts_of(size: int) -> Iterator[Part]:
    """The same for the same size, so that another process can continue an upload."""
    length = max(PART, -(-size // MOST_PARTS))
    for number, start in enumerate(range(0, size, length), 1):
        yield Part(number, start, min(length, size - start))


def check_key(key: str) -> str:
    """Return a key that every store can have; ValueError for another."""
    names = key.split("/")
    too_long = len(key.encode()) > _KEY_MAX or any(len(name.encode()) > _NAME_MAX for name in names)
    if too_long or "\0" in key or any(not name or name.startswith(".") for name in names):
        raise ValueError(f"not a valid key of an object: {key!r}")
    return key


class SourceWindow(SeekableReader):
    """A range of a seekable source as a file; EOFError if the source ends before it does."""

    def __init__(self, source: BinaryIO, start: int, size: int) -> None:
        super().__init__(size)
        self._source, self._start = source, start
        self._failure: OSError | EOFError | None = None

    def __len__(self) -> int:
        return self.size

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        wanted = min(len(buffer), self.size - self._position)
        if wanted <= 0:
            return 0
        try:
            self._source.seek(self._start + self._position)
            data = self._source.read(wanted)
            if not data:
                raise EOFError(f"the source ends {self.size - self._position:,} bytes too early")  # noqa: TRY301
        except (OSError, EOFError) as error:
            self._failure = error
            raise
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def blocks(self) -> Iterator[bytes]:
        """The bytes from the position to the end."""
        while data := self.read(BLOCK):
            yield data

    @contextmanager
    def failing_as_source(self) -> Iterator[None]:
        """Raise what the source raised, and not what whoever sent it made of that."""
        try:
            yield
        except Exception:
            if self._failure is not None:
                raise self._failure from None
            raise
