"""Owns the bodies of recorded answers as browsers get them: without transfer and content coding, and within bounds."""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Protocol

import brotli

BODY_MOST = 750_000_000
"""Bytes of one body, as the recorder keeps of a URL that is itself a file; what is beyond is cut, and marked."""
RATIO_MOST, UNPACKED_ALWAYS = 100, 32_000_000
"""What unpacks to more than so many times its size, and so many bytes besides, is a bomb, and is cut there."""
_READ = 64 * 1024
_CHUNK_LINE_MOST = 1024
_SIZE_OF_CHUNK = re.compile(rb"[ \t]*([0-9a-fA-F]{1,15})[ \t]*(;[^\n]*)?\r?\n")
_CODINGS_MOST = 3
CUT, DAMAGED = "length", "unspecified"
"""Words of WARC-Truncated (WARC 1.1, 5.13)."""


class UnknownCodingError(ValueError):
    """The body is packed in a way that cannot be read here; the message names it."""


class ByteSource(Protocol):
    """What bytes are read from: a record, or a file."""

    def read(self, size: int, /) -> bytes: ...


class _Decoder(Protocol):
    def __call__(self, data: bytes) -> Iterator[bytes]: ...


def copy_body(source: ByteSource, transfer_coding: str, content_coding: str, target: BinaryIO) -> str:
    """Write the body that ``source`` stands at to ``target``; why it is not whole, empty where it is.

    Tools that have undone the coding often leave its header: what is not packed as the header says is kept as it is.
    """
    codings = [each for each in _tokens(content_coding) if each != "identity"]
    unknown = [each for each in codings if each not in _DECODERS]
    if unknown or len(codings) > _CODINGS_MOST:
        raise UnknownCodingError(", ".join(unknown) or content_coding[:100])
    counted = _Counted(source)
    pieces: Iterable[bytes] = counted.pieces()
    if "chunked" in _tokens(transfer_coding):
        pieces = _without_chunks(pieces)
    for coding in reversed(codings):
        pieces = _decoded(pieces, _DECODERS[coding])
    written = 0
    try:
        for piece in pieces:
            most = min(BODY_MOST, UNPACKED_ALWAYS + RATIO_MOST * counted.count)
            target.write(piece[: most - written])
            written += len(piece)
            if written > most:
                return CUT
    except (ValueError, EOFError):
        return DAMAGED
    return ""


def _tokens(header: str) -> list[str]:
    return [each for part in header.split(",") if (each := part.strip().lower())]


class _Counted:
    """How much was read."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self.count = 0

    def pieces(self) -> Iterator[bytes]:
        while data := self._source.read(_READ):
            self.count += len(data)
            yield data


def _without_chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """RFC 9112, 7.1. A body that does not begin with a chunk has been put together already."""
    buffer, source = b"", iter(pieces)
    is_first = True
    while True:
        buffer = _filled(buffer, source)
        found = _SIZE_OF_CHUNK.match(buffer)
        if found is None and is_first:
            yield buffer
            yield from source
            return
        if found is None:
            raise ValueError("a chunk without its length")
        is_first, left = False, int(found[1], 16)
        if left == 0:
            return
        buffer = buffer[found.end() :]
        while left:
            buffer = buffer or next(source, b"")
            if not buffer:
                raise EOFError("a chunk that is not whole")
            yield buffer[:left]
            buffer, left = buffer[left:], max(0, left - len(buffer))
        buffer = _filled(buffer, source)
        buffer = buffer[2:] if buffer.startswith(b"\r\n") else buffer.removeprefix(b"\n")


def _filled(buffer: bytes, source: Iterator[bytes]) -> bytes:
    """At least as much as the line of a chunk's length may take, or all that is left."""
    while len(buffer) < _CHUNK_LINE_MOST and (more := next(source, b"")):
        buffer += more
    return buffer


def _decoded(pieces: Iterable[bytes], make: Callable[[], _Decoder]) -> Iterator[bytes]:
    """What a decoder makes of them; they themselves where it can make nothing of the first."""
    decoder, source = make(), iter(pieces)
    first = next(source, b"")
    beginning = iter(decoder(first))
    try:
        piece = next(beginning, b"")
    except (zlib.error, brotli.error):
        yield first
        yield from source
        return
    try:
        yield piece
        yield from beginning
        for each in source:
            yield from decoder(each)
    except (zlib.error, brotli.error) as error:
        raise ValueError(str(error)) from error


class _Inflate:
    """gzip, of which several members may follow one another; deflate, with or without its header (RFC 9110, 8.4.1)."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._unpacker = zlib.decompressobj(window)
        self._has_begun = False

    def __call__(self, data: bytes) -> Iterator[bytes]:
        if (
            not self._has_begun
            and self._window > 0
            and self._window <= zlib.MAX_WBITS
            and (data[:1] or b"x")[0] & 15 != 8
        ):
            self._unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        self._has_begun = True
        while data:
            if self._unpacker.eof:
                if not data.startswith(b"\x1f\x8b"):
                    return  # padding behind the end
                self._unpacker = zlib.decompressobj(self._window)
            yield self._unpacker.decompress(data, _READ)
            data = self._unpacker.unused_data if self._unpacker.eof else self._unpacker.unconsumed_tail


class _Brotli:
    """RFC 7932."""

    def __init__(self) -> None:
        self._unpacker = brotli.Decompressor()

    def __call__(self, data: bytes) -> Iterator[bytes]:
        while True:
            yield self._unpacker.process(data, output_buffer_limit=_READ)
            data = b""
            if self._unpacker.can_accept_more_data() or self._unpacker.is_finished():
                return


_DECODERS: dict[str, Callable[[], _Decoder]] = {
    "gzip": lambda: _Inflate(16 + zlib.MAX_WBITS),
    "x-gzip": lambda: _Inflate(16 + zlib.MAX_WBITS),
    "deflate": lambda: _Inflate(zlib.MAX_WBITS),
    "br": _Brotli,
}
