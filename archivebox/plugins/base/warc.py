"""Mends WARCs that wget left: cut to whole records where it was ended, and without what identifies who archived."""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
import re
import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

READ_SIZE = 1 << 16  # bytes
HEAD_SIZE = 1 << 18  # bytes of a record that are looked at; those that are changed are smaller
_GZIP = 16 + zlib.MAX_WBITS  # one gzip member, checksum and length verified (zlib manual, inflateInit2)
_SECRET_HEADERS = frozenset({b"cookie", b"authorization", b"proxy-authorization"})
_LENGTH = re.compile(rb"^Content-Length: \d+", re.MULTILINE)
_DIGEST = re.compile(rb"^WARC-(Block|Payload)-Digest: .*\r\n", re.MULTILINE)


class Member(NamedTuple):
    """A gzip member, which is one record (WARC 1.1, annex D): where it lies, and what it begins with, unpacked."""

    start: int
    end: int
    head: bytes


class RequestSecrets(NamedTuple):
    """What is not to be kept: request headers, in lower case, and values as they stand in wget's arguments."""

    headers: frozenset[bytes]
    values: tuple[bytes, ...]


def cut_to_whole_records(path: Path) -> int:
    """Cut what follows the last complete record. Returns the bytes that are left."""
    whole = 0
    for member in members(path):
        whole = member.end
    with path.open("r+b") as file:
        file.truncate(whole)
    return whole


def leave_out(path: Path, secrets: RequestSecrets) -> None:
    """Rewrite a whole WARC without the secrets: in requests the headers, in wget's own arguments the values."""
    temporary = path.with_name(f".{path.name}.tmp")
    with path.open("rb") as source, temporary.open("wb") as target:
        for member in members(path):
            changed = _without(member.head, secrets)
            source.seek(member.start)
            if changed is None:
                _copy(source.read, target.write, member.end - member.start)
            else:
                target.write(gzip.compress(changed, mtime=0))
    os.replace(temporary, path)


def _without(record: bytes, secrets: RequestSecrets) -> bytes | None:
    """Return a record without the secrets, None where it has none."""
    head, _, rest = record.partition(b"\r\n\r\n")
    length = re.search(rb"^Content-Length: (\d+)", head, re.MULTILINE)
    block = rest[: int(length[1])] if length else b""
    if b"\r\nWARC-Type: request\r\n" in head:
        new = _without_headers(block, _SECRET_HEADERS | secrets.headers)
    elif b"\r\nWARC-Type: warcinfo\r\n" in head or b"wget_arguments.txt" in head:
        new = block
        for value in secrets.values:
            new = new.replace(value, b"[removed]")
    else:
        return None
    if new == block:
        return None
    digest = b"WARC-Block-Digest: sha1:" + base64.b32encode(hashlib.sha1(new, usedforsecurity=False).digest())
    head = _LENGTH.sub(b"Content-Length: %d" % len(new), _DIGEST.sub(b"", head + b"\r\n")) + digest
    return head + b"\r\n\r\n" + new + b"\r\n\r\n"


def _without_headers(request: bytes, names: frozenset[bytes]) -> bytes:
    head, blank, body = request.partition(b"\r\n\r\n")
    kept = [line for line in head.split(b"\r\n") if line.partition(b":")[0].strip().lower() not in names]
    return b"\r\n".join(kept) + blank + body


def _copy(read: Callable[[int], bytes], write: Callable[[bytes], object], size: int) -> None:
    while size and (data := read(min(size, READ_SIZE))):
        write(data)
        size -= len(data)


def members(path: Path) -> Iterator[Member]:
    """Yield the whole members from the start of the file up to what is none."""
    start = position = 0
    unpacker, head = zlib.decompressobj(_GZIP), bytearray()
    with path.open("rb") as file:
        while data := file.read(READ_SIZE):
            while data:
                try:
                    # 1 MB at most of what a member may hold at a time: a page may be a bomb.
                    unpacked = unpacker.decompress(data, 1 << 20)
                except zlib.error:
                    return
                head += unpacked[: HEAD_SIZE - len(head)]
                rest = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
                position += len(data) - len(rest)
                data = rest
                if unpacker.eof:
                    yield Member(start, position, bytes(head))
                    start = position
                    unpacker, head = zlib.decompressobj(_GZIP), bytearray()
