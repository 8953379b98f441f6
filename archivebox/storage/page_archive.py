"""Owns the one file that a page is in an object store: a ZIP whose members are stored, not compressed.

Each member is one range of it, so that a file of a page is read without the others. Its directory has the SHA-256 of
each block of a member: who knows the directory's digest can check any part of any file. The same folder gives the same
bytes: members are sorted by name and have the time of their file in UTC, to the second, and its mode. A link is a
member with its target, an empty folder one without bytes.
"""

import hashlib
import io
import os
import stat
import struct
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from archivebox.lib.files import SeekableReader, walk_entries

BLOCK = 256 * 1024
"""Bytes in memory at a time, and of which there is a hash where a file has at most :data:`MOST_HASHES` of them."""
MOST_HASHES = 2000
"""Of one member: an extra field has room for 2,047."""
DIRECTORY_GUESS = 64 * 1024
"""Bytes at the end that are read first: the directory of some 700 files lies in them."""
_UTF8, _IS_DESCRIBED = 1 << 11, 1 << 3
"""Flags of a member: its name is UTF-8; its size and checksum follow its bytes (APPNOTE.TXT of PKWARE, 4.3.9)."""
_FIELD, _TIME = struct.Struct("<2H"), struct.Struct("<Bl")
_TIME_FIELD, _HASHES_FIELD, _HAS_MTIME = 0x5455, 0x3256, 1
_TIMES = (-(2**31), 2**31 - 1)
_FIRST, _LAST = (1980, 1, 1, 0, 0, 0), (2107, 12, 31, 23, 59, 58)
"""The times that a member's own field can have."""


class FolderChangedError(OSError):
    """A file was changed, or is gone, since its folder was listed."""


class ArchiveDamagedError(Exception):
    """What is read is not what an archive of a page holds."""


class StoredMember(NamedTuple):
    """A file in an archive: its bytes lie from ``start`` on; ``mtime`` in seconds."""

    name: str
    size: int
    mtime: int
    start: int
    mode: int
    hashes: bytes
    """The SHA-256 of each of its blocks, one behind the other."""

    @property
    def block(self) -> int:
        return block_size(self.size)

    @property
    def stop(self) -> int:
        return self.start + self.size


def block_size(size: int) -> int:
    """Bytes of each block of a file but the last: more of a file with very many."""
    return BLOCK << ((size - 1) // (BLOCK * MOST_HASHES)).bit_length() if size else BLOCK


class PageArchive:
    """The archive of a folder, which is made while it is read, without a copy. What it is, is known afterwards."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._members = folder, _members_of(folder)
        self.files_size = sum(status.st_size for _, status in self._members)
        self.size, self.directory = 0, ""
        self._digest = hashlib.sha256()

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def blocks(self) -> Iterator[bytes]:
        """All of it, once. FolderChangedError, OSError."""
        written = _Written()
        with zipfile.ZipFile(written, "w") as archive:
            for name, status in self._members:
                for _ in _write(archive, self._folder / name, _entry_of(name, status), status):
                    yield self._counted(written)
            yield self._counted(written)
        self.directory = hashlib.sha256(_without_end(b"".join(written.pieces))).hexdigest()
        yield self._counted(written)

    def _counted(self, written: "_Written") -> bytes:
        data = b"".join(written.pieces)
        written.pieces.clear()
        self.size += len(data)
        self._digest.update(data)
        return data


class _Written(io.RawIOBase):
    """A file that is only written, and not sought in."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []

    def write(self, data: Any, /) -> int:
        self.pieces.append(bytes(data))
        return len(data)


class _Entry(zipfile.ZipInfo):
    """A member with the very bytes of its file's name, which need not be UTF-8."""

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:  # noqa: N802 - the name that zipfile calls
        encoded = os.fsencode(self.filename)
        with suppress(UnicodeDecodeError):
            encoded.decode()
            return encoded, self.flag_bits | _UTF8
        return encoded, self.flag_bits


def read_directory(read_range: Callable[[int, int], bytes], size: int, digest: str | None = None) -> list[StoredMember]:
    """The members of an archive of so many bytes, by one call of ``read_range(start, stop)``, or two for many members.

    ArchiveDamagedError, also if it is another directory than the one with ``digest``. Without, it may be anybody's.
    """
    file = _Tail(read_range, size)
    try:
        with zipfile.ZipFile(file) as archive:
            start, infos = archive.start_dir, archive.infolist()
        file.seek(start)
        if digest is not None and hashlib.sha256(_without_end(file.read())).hexdigest() != digest:
            raise ArchiveDamagedError("it was replaced by another")
        infos.sort(key=lambda each: each.header_offset)
        starts = [*(each.header_offset for each in infos), start]
        if starts[0]:
            raise ArchiveDamagedError("it begins or ends elsewhere than its directory says")
        return [_member_of(info, stop) for info, stop in zip(infos, starts[1:], strict=True)]
    except (zipfile.BadZipFile, struct.error, LookupError, ValueError, NotImplementedError) as error:
        raise ArchiveDamagedError(f"the directory of the archive cannot be read: {error}") from error


class _Tail(SeekableReader):
    """The end of an archive as a file; what lies before it is read when it is asked for."""

    def __init__(self, read_range: Callable[[int, int], bytes], size: int) -> None:
        super().__init__(size)
        self._read_range, self._start = read_range, max(0, size - DIRECTORY_GUESS)
        self._data = read_range(self._start, size)

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._position < self._start:
            self._data = self._read_range(self._position, self._start) + self._data
            self._start = self._position
        data = self._data[self._position - self._start :][: len(buffer)]
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


class BlockReader:
    """Reads blocks of any size one after the other, in pieces of the sizes that are asked for."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks, self._left = iter(blocks), b""

    def read(self, size: int) -> bytes:
        """So many bytes; fewer where there are no more."""
        pieces = []
        while size > 0 and (block := self._left or next(self._blocks, b"")):
            piece, self._left = block[:size], block[size:]
            size -= len(piece)
            pieces.append(piece)
        return b"".join(pieces)


def checked(member: StoredMember, reader: BlockReader, first: int = 0, last: int | None = None) -> Iterator[bytes]:
    """The blocks of a member from the ``first`` to before the ``last``, which the reader has next.

    ArchiveDamagedError before one that is not what was stored.
    """
    size = hashlib.sha256().digest_size
    for number in range(first, len(member.hashes) // size if last is None else last):
        block = reader.read(min(member.block, member.size - number * member.block))
        if hashlib.sha256(block).digest() != member.hashes[number * size : (number + 1) * size]:
            raise ArchiveDamagedError(f"{member.name}: the bytes in the archive are not those that were stored")
        yield block


def unpack(folder: Path, members: Iterable[StoredMember], blocks: Iterable[bytes]) -> None:
    """Write all members below an empty folder, from the blocks of the archive from its start on.

    ArchiveDamagedError, OSError. Nothing is made durable. Links come last, so that nothing is written through one.
    """
    reader, position, links = BlockReader(blocks), 0, {}
    for member in sorted(members, key=lambda each: each.start):
        reader.read(member.start - position)
        data, position, path = checked(member, reader), member.stop, folder / member.name
        if stat.S_ISLNK(member.mode):
            links[member.name] = os.fsdecode(b"".join(data))
        elif stat.S_ISDIR(member.mode):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.writelines(data)
            os.utime(path, (member.mtime, member.mtime))
            path.chmod(stat.S_IMODE(member.mode) & 0o777)
    for name, target in sorted(links.items()):
        if any(str(parent) in links for parent in PurePosixPath(name).parents):
            raise ArchiveDamagedError(f"the archive has an entry behind a link: {name!r}")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(target)


def _members_of(folder: Path) -> list[tuple[str, os.stat_result]]:
    """The files, links and empty folders below a folder, in the order in which they are archived.

    The name of an empty folder ends with ``/``. Nothing that a link leads to, and no sockets and pipes.
    """
    members, filled = [], set()
    for name, entry in walk_entries(folder):
        filled.add(name.rpartition("/")[0])
        with suppress(FileNotFoundError):
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                members.append((f"{name}/", status))
            elif stat.S_ISLNK(status.st_mode) or stat.S_ISREG(status.st_mode):
                members.append((name, status))
    found = (each for each in members if each[0][-1] != "/" or each[0][:-1] not in filled)
    return sorted(found, key=lambda each: os.fsencode(each[0]))


def _entry_of(name: str, status: os.stat_result) -> _Entry:
    is_file = stat.S_ISREG(status.st_mode)
    mtime = min(max(status.st_mtime_ns // 1_000_000_000, _TIMES[0]), _TIMES[1]) if is_file else 0
    entry = _Entry(name, min(max(time.gmtime(mtime)[:6], _FIRST), _LAST))
    entry.file_size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
    entry.external_attr = status.st_mode << 16
    entry.extra = _FIELD.pack(_TIME_FIELD, _TIME.size) + _TIME.pack(_HAS_MTIME, mtime)
    return entry


def _write(archive: zipfile.ZipFile, path: Path, entry: _Entry, status: os.stat_result) -> Iterator[None]:
    """Write one member; yields after each block. FolderChangedError, OSError."""
    unit, done, digests = block_size(entry.file_size), 0, []
    with archive.open(entry, "w") as target:
        for block in _blocks(path, status):
            if done % unit == 0:
                digests.append(hashlib.sha256())
            digests[-1].update(block)
            done += len(block)
            target.write(block)
            yield
    hashes = b"".join(each.digest() for each in digests)
    entry.extra += _FIELD.pack(_HASHES_FIELD, len(hashes)) + hashes


def _blocks(path: Path, listed: os.stat_result) -> Iterator[bytes]:
    """Of a file, or where a link leads. FolderChangedError if it is not what was listed."""
    left = 0 if stat.S_ISDIR(listed.st_mode) else listed.st_size
    try:
        if stat.S_ISLNK(listed.st_mode):
            target = os.fsencode(path.readlink())
            left -= len(target)
            yield target
        elif stat.S_ISREG(listed.st_mode):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - of a descriptor
                status = os.fstat(descriptor)
                is_same = (status.st_size, status.st_mtime_ns) == (listed.st_size, listed.st_mtime_ns)
                while is_same and left and (block := file.read(min(BLOCK, left))):
                    left -= len(block)
                    yield block
                left = left if is_same else -1
    except FileNotFoundError:
        left = -1
    if left:
        raise FolderChangedError(f"{path} was changed while it was archived")


def _without_end(data: bytes) -> bytes:
    """The directory itself, of all that follows the last member: the end is 22 bytes long, and 98 with ZIP64's."""
    return data[: -98 if data[-42:-38] == b"PK\6\7" else -22]


def _member_of(info: zipfile.ZipInfo, stop: int) -> StoredMember:
    """``stop``: where the next one begins. Earlier archives have nothing between the two."""
    fields, extra = {}, info.extra
    while extra:
        kind, size = _FIELD.unpack_from(extra)
        fields[kind], extra = extra[_FIELD.size :][:size], extra[_FIELD.size + size :]
    if info.flag_bits & _IS_DESCRIBED:
        stop -= 24 if info.file_size * 1.05 > zipfile.ZIP64_LIMIT else 16  # as zipfile decides when it begins to write
    name = info.filename if info.flag_bits & _UTF8 else os.fsdecode(info.filename.encode("cp437"))
    mtime = _TIME.unpack(fields[_TIME_FIELD])[1]
    start, mode = stop - info.file_size, info.external_attr >> 16
    return StoredMember(name, info.file_size, mtime, start, mode, fields[_HASHES_FIELD])
