"""Owns the one file that a page is in an object store: a ZIP whose members are stored, not compressed.

Each member is one range of it, so that a file of a page is read without the others. Its directory has the SHA-256 of
each block of a member: who knows the directory's (:func:`directory_digest`) can check any part of any file. The same
folder gives the same bytes: members are sorted by name and have the time of their file in UTC, to the second, and its
mode. A link is a member with its target, an empty folder one without bytes.
APPNOTE.TXT of PKWARE, 4.3 to 4.5.
"""

import hashlib
import io
import os
import stat
import struct
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from archivebox.lib.files import SeekableReader, walk_entries

BLOCK = 256 * 1024
"""Bytes in memory at a time, and of which there is a hash where a file has at most :data:`MOST_HASHES` of them."""
MOST_HASHES = 2000
"""Of one member: an extra field has room for 2,047."""
DIRECTORY_GUESS = 64 * 1024
"""Bytes at the end that are read first: the directory of some 700 files lies in them."""
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_TIME = struct.Struct("<2HBl")
_UTF8 = 1 << 11
_ZIP64_FROM = 0xFFFFFFFF
_MANY = 0xFFFF
_VERSION, _VERSION64 = 20, 45
_UNIX = 3 << 8
_FILE_MODE = stat.S_IFREG | 0o644
_TIME_FIELD, _ZIP64_FIELD, _HASHES_FIELD = 0x5455, 0x0001, 0x3256
_HASHES = struct.Struct("<2H")
_HAS_MTIME = 1
_TIMES = (-(2**31), 2**31 - 1)
_DOS_EPOCH, _DOS_LAST = datetime(1980, 1, 1, tzinfo=UTC), datetime(2107, 12, 31, 23, 59, 58, tzinfo=UTC)


class FolderChangedError(OSError):
    """A file was changed, or is gone, since its folder was listed."""


class ArchiveDamagedError(Exception):
    """What is read is not what an archive of a page holds."""


class FolderMember(NamedTuple):
    """A file of a page's folder: its path there with ``/``, size in bytes, when it was written, and its mode and kind.

    The path of an empty folder ends with ``/``.
    """

    name: str
    size: int
    mtime_ns: int
    mode: int = _FILE_MODE


class StoredMember(NamedTuple):
    """A file in an archive: its bytes lie from ``start`` on; ``mtime`` in seconds."""

    name: str
    size: int
    mtime: int
    crc: int
    start: int
    mode: int = _FILE_MODE
    hashes: bytes = b""
    """The SHA-256 of each of its blocks, one behind the other."""

    @property
    def block(self) -> int:
        """Bytes of each block but the last: more of a file with very many."""
        return BLOCK << ((self.size - 1) // (BLOCK * MOST_HASHES)).bit_length() if self.size else BLOCK

    @property
    def stop(self) -> int:
        return self.start + self.size


def member_list(folder: Path) -> list[FolderMember]:
    """The files, links and empty folders below a folder, in the order in which they are archived.

    Nothing that a link leads to, and no sockets and pipes.
    """
    members, filled = [], set()
    for name, entry in walk_entries(folder):
        filled.add(name.rpartition("/")[0])
        with suppress(FileNotFoundError):
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                members.append(FolderMember(f"{name}/", 0, 0, status.st_mode))
            elif stat.S_ISLNK(status.st_mode):
                members.append(FolderMember(name, status.st_size, 0, status.st_mode))
            elif stat.S_ISREG(status.st_mode):
                members.append(FolderMember(name, status.st_size, status.st_mtime_ns, status.st_mode))
    kept = (each for each in members if each.name[-1] != "/" or each.name[:-1] not in filled)
    return sorted(kept, key=lambda each: os.fsencode(each.name))


def open_archive(folder: Path, members: Sequence[FolderMember]) -> "PageArchive":
    """The archive of a folder's files, which are read once for their checksums. FolderChangedError."""
    pieces: list[bytes | FolderMember] = []
    stored: list[StoredMember] = []
    position = 0
    for member in members:
        found = StoredMember(member.name, member.size, _seconds(member), 0, 0, member.mode)
        crc, hashes, reader = 0, bytearray(), _BlockReader(_blocks(folder, member))
        while data := b"".join(reader.take(found.block)):
            crc = zlib.crc32(data, crc)
            hashes += hashlib.sha256(data).digest()
        header = _local_header(member.name, member.size, found.mtime, crc)
        stored.append(found._replace(crc=crc, start=position + len(header), hashes=bytes(hashes)))
        pieces += [header, member]
        position += len(header) + member.size
    return PageArchive(folder, [*pieces, _directory(stored, position)], stored)


class PageArchive(SeekableReader):
    """A readable, seekable file over a folder, without a copy of it. FolderChangedError from reading."""

    def __init__(self, folder: Path, pieces: Sequence[bytes | FolderMember], members: Sequence[StoredMember]) -> None:
        self.members = tuple(members)
        sizes = [piece.size if isinstance(piece, FolderMember) else len(piece) for piece in pieces]
        self._folder, self._pieces = folder, pieces
        self._starts = [0, *accumulate(sizes)]
        super().__init__(self._starts.pop())
        self._open: tuple[int, io.FileIO] | None = None

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        filled = 0
        while filled < len(buffer) and (data := self._read_piece(len(buffer) - filled)):
            buffer[filled : filled + len(data)] = data
            filled += len(data)
            self._position += len(data)
        return filled

    def close(self) -> None:
        self._close_file()
        super().close()

    def _read_piece(self, most: int) -> bytes:
        """Some bytes at the position, of one piece; empty at the end."""
        if self._position >= self.size:
            return b""
        number = bisect_right(self._starts, self._position) - 1  # the last of those that begin there: others are empty
        piece, offset = self._pieces[number], self._position - self._starts[number]
        if isinstance(piece, bytes):
            return piece[offset : offset + most]
        if stat.S_ISLNK(piece.mode):
            return _target(self._folder, piece)[offset : offset + most]
        file = self._file(number, piece)
        file.seek(offset)
        data = file.read(min(most, piece.size - offset, BLOCK))
        if not data:
            raise _changed(self._folder, piece)
        return data

    def _file(self, number: int, member: FolderMember) -> io.FileIO:
        if self._open is None or self._open[0] != number:
            self._close_file()
            self._open = number, _open(self._folder, member)
        return self._open[1]

    def _close_file(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None


def read_directory(read_range: Callable[[int, int], bytes], size: int) -> list[StoredMember]:
    """The members of an archive of so many bytes, by one call of ``read_range(start, stop)``, or two for many members.

    ArchiveDamagedError. They may be anybody's: their :func:`directory_digest` says whether they are what was stored.
    """
    tail_start = max(0, size - DIRECTORY_GUESS)
    tail = read_range(tail_start, size)
    try:
        start, count = _locate_directory(tail)
        data = tail[start - tail_start :] if start >= tail_start else read_range(start, tail_start) + tail
        return _read_entries(data, count)
    except (struct.error, IndexError) as error:
        raise ArchiveDamagedError(f"the directory of the archive cannot be read: {error}") from error


def directory_digest(members: Iterable[StoredMember]) -> str:
    """The SHA-256 of a directory: it stands for every byte of every member."""
    return hashlib.sha256(b"".join(map(_central_header, members))).hexdigest()


def checked(member: StoredMember, data: Iterable[bytes], first: int = 0, last: int | None = None) -> Iterator[bytes]:
    """The blocks of a member from the ``first`` to before the ``last``, given their bytes.

    ArchiveDamagedError before one that is not what was stored.
    """
    reader, size = _BlockReader(data), hashlib.sha256().digest_size
    for number in range(first, len(member.hashes) // size if last is None else last):
        block = b"".join(reader.take(member.block))
        if hashlib.sha256(block).digest() != member.hashes[number * size : (number + 1) * size]:
            raise ArchiveDamagedError(f"{member.name}: the bytes in the archive are not those that were stored")
        yield block


def unpack(folder: Path, members: Iterable[StoredMember], blocks: Iterable[bytes]) -> None:
    """Write all members below an empty folder, from the blocks of the archive from its start on.

    ArchiveDamagedError, OSError. Nothing is made durable. Links come last, so that nothing is written through one.
    """
    reader, links = _BlockReader(blocks), {}
    for member in sorted(members, key=lambda each: each.start):
        reader.skip_to(member.start)
        data = checked(member, reader.take(member.size))
        if stat.S_ISLNK(member.mode):
            links[member.name] = os.fsdecode(b"".join(data))
        elif stat.S_ISDIR(member.mode):
            (folder / member.name).mkdir(parents=True, exist_ok=True)
        else:
            _write_file(folder / member.name, member, data)
    for name, target in sorted(links.items()):
        if any(str(parent) in links for parent in PurePosixPath(name).parents):
            raise ArchiveDamagedError(f"the archive has an entry behind a link: {name!r}")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(target)


def _write_file(path: Path, member: StoredMember, data: Iterable[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        for block in data:
            file.write(block)
    os.utime(path, (member.mtime, member.mtime))
    path.chmod(stat.S_IMODE(member.mode) & 0o777)


class _BlockReader:
    """Reads blocks of any size one after the other."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks, self._left, self._position = iter(blocks), b"", 0

    def skip_to(self, position: int) -> None:
        for _ in self.take(position - self._position):
            pass

    def take(self, size: int) -> Iterator[bytes]:
        """The next bytes; fewer where there are no more."""
        while size > 0 and (block := self._left or next(self._blocks, b"")):
            yielded, self._left = block[:size], block[size:]
            size -= len(yielded)
            self._position += len(yielded)
            yield yielded


def _blocks(folder: Path, member: FolderMember) -> Iterator[bytes]:
    if not stat.S_ISREG(member.mode):
        yield _target(folder, member) if stat.S_ISLNK(member.mode) else b""
        return
    left = member.size
    with _open(folder, member) as file:
        while left:
            block = file.read(min(BLOCK, left))
            if not block:
                raise _changed(folder, member)
            left -= len(block)
            yield block


def _open(folder: Path, member: FolderMember) -> io.FileIO:
    """The member's file, if it is still the one that was listed."""
    try:
        descriptor = os.open(folder / member.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise _changed(folder, member) from None
    file = io.FileIO(descriptor)
    status = os.fstat(descriptor)
    if (status.st_size, status.st_mtime_ns) != (member.size, member.mtime_ns) or not stat.S_ISREG(status.st_mode):
        file.close()
        raise _changed(folder, member)
    return file


def _target(folder: Path, member: FolderMember) -> bytes:
    """Where a link leads, if that is as long as it was."""
    try:
        target = os.fsencode((folder / member.name).readlink())
    except OSError:
        raise _changed(folder, member) from None
    if len(target) != member.size:
        raise _changed(folder, member)
    return target


def _changed(folder: Path, member: FolderMember) -> FolderChangedError:
    return FolderChangedError(f"{folder / member.name} was changed while it was archived")


def _seconds(member: FolderMember) -> int:
    return min(max(member.mtime_ns // 1_000_000_000, _TIMES[0]), _TIMES[1])


def _dos_time(seconds: int) -> tuple[int, int]:
    at = min(max(datetime.fromtimestamp(seconds, UTC), _DOS_EPOCH), _DOS_LAST)
    return at.hour << 11 | at.minute << 5 | at.second >> 1, (at.year - 1980) << 9 | at.month << 5 | at.day


def _name_of(name: str) -> tuple[bytes, int]:
    """The bytes of a file's name, and the flag that says of them that they are UTF-8."""
    encoded = os.fsencode(name)
    try:
        encoded.decode()
    except UnicodeDecodeError:
        return encoded, 0
    return encoded, _UTF8


def _time_field(mtime: int) -> bytes:
    return _TIME.pack(_TIME_FIELD, _TIME.size - 4, _HAS_MTIME, mtime)


def _zip64_field(*values: int) -> bytes:
    return struct.pack(f"<2H{len(values)}Q", _ZIP64_FIELD, 8 * len(values), *values) if values else b""


def _version(zip64: bytes) -> int:
    return _VERSION64 if zip64 else _VERSION


def _local_extra(size: int, mtime: int) -> tuple[bytes, bytes]:
    return _time_field(mtime), _zip64_field(size, size) if size >= _ZIP64_FROM else b""


def _local_header(name: str, size: int, mtime: int, crc: int) -> bytes:
    encoded, flags = _name_of(name)
    time, zip64 = _local_extra(size, mtime)
    shown = min(size, _ZIP64_FROM)
    fields = (_version(zip64), flags, 0, *_dos_time(mtime), crc, shown, shown, len(encoded), len(time + zip64))
    return _LOCAL.pack(b"PK\3\4", *fields) + encoded + time + zip64


def _local_header_size(name: str, size: int) -> int:
    return _LOCAL.size + len(os.fsencode(name)) + sum(map(len, _local_extra(size, 0)))


def _central_header(member: StoredMember) -> bytes:
    encoded, flags = _name_of(member.name)
    offset = member.start - _local_header_size(member.name, member.size)
    large = [member.size, member.size] if member.size >= _ZIP64_FROM else []
    zip64 = _zip64_field(*large, *([offset] if offset >= _ZIP64_FROM else []))
    hashes = _HASHES.pack(_HASHES_FIELD, len(member.hashes)) + member.hashes
    extra = _time_field(member.mtime) + hashes + zip64
    shown = min(member.size, _ZIP64_FROM)
    version = _version(zip64)
    head = (_UNIX | version, version, flags, 0, *_dos_time(member.mtime), member.crc, shown, shown)
    lengths = (len(encoded), len(extra), 0, 0, 0)
    return _CENTRAL.pack(b"PK\1\2", *head, *lengths, member.mode << 16, min(offset, _ZIP64_FROM)) + encoded + extra


def _directory(members: Sequence[StoredMember], start: int) -> bytes:
    """All that follows the last member."""
    entries = b"".join(map(_central_header, members))
    count, size = len(members), len(entries)
    end64 = b""
    if count >= _MANY or size >= _ZIP64_FROM or start >= _ZIP64_FROM:
        versions = (_UNIX | _VERSION64, _VERSION64)
        end64 = _END64.pack(b"PK\6\6", _END64.size - 12, *versions, 0, 0, count, count, size, start)
        end64 += _LOCATOR.pack(b"PK\6\7", 0, start + size, 1)
    few = min(count, _MANY)
    end = _END.pack(b"PK\5\6", 0, 0, few, few, min(size, _ZIP64_FROM), min(start, _ZIP64_FROM), 0)
    return entries + end64 + end


def _locate_directory(tail: bytes) -> tuple[int, int]:
    """Where the directory begins in the archive, and of how many entries it is."""
    signature, _, _, _, count, _, start, _ = _END.unpack(tail[-_END.size :])
    if signature != b"PK\5\6":
        raise ArchiveDamagedError("the archive has no end: it is not whole, or no archive of a page")
    if count == _MANY or start == _ZIP64_FROM:
        end64 = tail[-_END.size - _LOCATOR.size - _END64.size :]
        signature, *_, count, _, start = _END64.unpack(end64[: _END64.size])
        if signature != b"PK\6\6":
            raise ArchiveDamagedError("the archive has no ZIP64 end")
    return start, count


def _read_entries(data: bytes, count: int) -> list[StoredMember]:
    members = []
    position = 0
    for _ in range(count):
        fields = _CENTRAL.unpack_from(data, position)
        signature, method, crc, name_size, extra_size = fields[0], fields[4], fields[7], fields[10], fields[11]
        if signature != b"PK\1\2" or method != 0:
            raise ArchiveDamagedError("the archive's directory has an entry that does not belong to a page")
        position += _CENTRAL.size
        name = os.fsdecode(data[position : position + name_size])
        extra = data[position + name_size : position + name_size + extra_size]
        position += name_size + extra_size
        members.append(_member_of(name, crc, fields[9], fields[16], extra)._replace(mode=fields[15] >> 16))
    return members


def _member_of(name: str, crc: int, size: int, offset: int, extra: bytes) -> StoredMember:
    mtime = _TIME.unpack_from(extra)[3]
    start = _TIME.size + _HASHES.size
    end = start + _HASHES.unpack_from(extra, _TIME.size)[1]
    values = [value for (value,) in struct.iter_unpack("<Q", extra[end + 4 :])]
    if size == _ZIP64_FROM:
        size, *values = values[1:]
    if offset == _ZIP64_FROM:
        offset = values[0]
    return StoredMember(name, size, mtime, crc, offset + _local_header_size(name, size), hashes=extra[start:end])
