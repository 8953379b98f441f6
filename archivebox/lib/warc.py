"""Owns reading the headers of WARC records and of the HTTP answers in them, none longer than headers are."""

from collections.abc import Iterator
from typing import BinaryIO, Protocol

_LINE_MOST = 1 << 16
"""Bytes of one header line."""
_LINES_MOST = 1000
_BLOCK = 1 << 20
_IN_PARTS = frozenset({"content-security-policy"})
"""Headers of which an answer may have several, and all count (Content Security Policy 3, 3.1)."""


class NotWarcError(ValueError):
    """Where a record should begin stands something else."""


class LineSource(Protocol):
    """What has lines: a file, or a part of one."""

    def readline(self, size: int, /) -> bytes: ...


def read_headers(file: LineSource) -> dict[str, str]:
    """The lines up to the empty one, names in lower case; the first, which has no name, comes with its first word.

    Of several with one name the last; policies one after the other, separated by commas.
    """
    headers: dict[str, str] = {}
    for _ in range(_LINES_MOST):
        line = file.readline(_LINE_MOST)
        if line in {b"\r\n", b"\n", b""}:
            break
        name, _, value = line.partition(b":")
        key, text = name.strip().lower().decode("latin-1"), value.strip().decode("utf-8", "replace")
        headers[key] = f"{headers[key]}, {text}" if key in _IN_PARTS and key in headers else text
    return headers


def records(file: BinaryIO, head: int) -> Iterator[tuple[dict[str, str], bytes]]:
    """Headers of each record, and the first ``head`` bytes of what is in it; NotWarcError, EOFError."""
    while line := file.readline(_LINE_MOST):
        if not line.strip():
            continue
        if not line.startswith(b"WARC/"):
            raise NotWarcError(line[:40].decode("latin-1"))
        headers = read_headers(file)
        length = headers.get("content-length", "")
        if not length.isascii() or not length.isdigit():
            raise NotWarcError("a record without its length")
        content = file.read(min(int(length), head))
        yield headers, content
        _skip(file, int(length) - len(content))


def _skip(file: BinaryIO, length: int) -> None:
    while length:
        block = file.read(min(length, _BLOCK))
        if not block:
            raise EOFError("the last record is not whole")
        length -= len(block)
