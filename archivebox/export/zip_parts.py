"""Owns a zip file that grows part after part: what its end lists lies in a second file, and not in memory.

`zipfile` writes members and, behind those of a part, their entries of the directory. These are moved beside the file,
so that it can be cut to whole members, and any process can go on. Its end is written here (APPNOTE.TXT 6.3.10, 4.3).
"""

import hashlib
import html
import io
import json
import os
import shutil
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO
from urllib.parse import quote
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from archivebox.export.lists import PAGE_END, PAGE_HEAD
from archivebox.export.pages import ExportedPage
from archivebox.export.writer import Failures, PartFiles, Writer

DIRECTORY = "directory"
"""The file beside an export that is a zip file."""
IS_COMPRESSED = (
    ".gz", ".zip", ".png", ".jpg", ".jpeg", ".webp", ".avif", ".gif", ".mp4", ".webm", ".mkv", ".mp3", ".m4a", ".opus",
    ".woff2", ".pdf", ".wacz", ".zst", ".idx",
)  # fmt: skip
"""Endings of what is stored as it is; those of a WACZ have to be (WACZ 1.1.1, 4)."""
_ENTRY, _ENTRY_SIZE, _LENGTHS_AT = b"PK\x01\x02", 46, 28
_BLOCK = 1 << 20
_MOST_ENTRIES, _MOST_BYTES = 0xFFFF, 0xFFFFFFFF
_EARLIEST, _LATEST = 315_619_200, 4_354_732_800
"""2 January 1980 and 31 December 2107, UTC: a zip file knows no other times."""


@dataclass(frozen=True, slots=True)
class ZipMember:
    """A file in a zip file: its name there, its bytes, and their SHA-256."""

    name: str
    size: int
    sha256: str


class ZipPart:
    """What is added to a zip file at a time."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive

    def add_file(self, path: Path, name: str) -> ZipMember | None:
        """None where it has gone meanwhile."""
        try:
            with path.open("rb") as source:
                return self.add(source, name, os.fstat(source.fileno()).st_mtime)
        except FileNotFoundError:
            return None

    def add_bytes(self, data: bytes, name: str) -> ZipMember:
        return self.add(io.BytesIO(data), name)

    def add(self, source: BinaryIO, name: str, changed_at: float | None = None) -> ZipMember:
        """All that a file has now: one that grows meanwhile is cut."""
        moment = min(max(time.time() if changed_at is None else changed_at, _EARLIEST), _LATEST)
        info = ZipInfo(name, time.localtime(moment)[:6])
        info.compress_type = ZIP_STORED if name.lower().endswith(IS_COMPRESSED) else ZIP_DEFLATED
        info.external_attr = 0o644 << 16
        info.file_size = source.seek(0, os.SEEK_END)
        source.seek(0)
        digest, size = hashlib.sha256(), 0
        with self._archive.open(info, "w") as target:
            while block := source.read(min(_BLOCK, info.file_size - size)):
                digest.update(block)
                size += target.write(block)
        return ZipMember(name, size, digest.hexdigest())


@contextmanager
def zip_part(files: PartFiles) -> Iterator[ZipPart]:
    """Add to the zip file; what was added is whole when this is left."""
    file = files[""]
    with ZipFile(file, "w") as archive:
        yield ZipPart(archive)
    file.seek(archive.start_dir)
    shutil.copyfileobj(io.BytesIO(b"".join(_entries(file))), files[DIRECTORY])
    file.truncate(archive.start_dir)
    file.seek(archive.start_dir)


def end_zip(files: PartFiles) -> None:
    """Write the directory and the end of the zip file."""
    file, directory = files[""], files[DIRECTORY]
    start, count = file.seek(0, os.SEEK_END), 0
    directory.seek(0)
    for entry in _entries(directory):
        file.write(entry)
        count += 1
    file.write(_end(count, file.tell() - start, start))


def _entries(file: BinaryIO | IO[bytes]) -> Iterator[bytes]:
    while (head := file.read(_ENTRY_SIZE)).startswith(_ENTRY):
        yield head + file.read(sum(struct.unpack_from("<3H", head, _LENGTHS_AT)))


def _end(count: int, size: int, start: int) -> bytes:
    """The end of the directory; before it that of a large one, where the numbers are too large for the small one."""
    small = min(count, _MOST_ENTRIES), min(size, _MOST_BYTES), min(start, _MOST_BYTES)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, small[0], small[0], small[1], small[2], 0)
    if _MOST_ENTRIES not in small and _MOST_BYTES not in small:
        return end
    large = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, start)
    return large + struct.pack("<4sLQL", b"PK\x06\x07", 0, start + size, 1) + end


def safe_name(path: str) -> str:
    """A file's path as the name of a member, from which it can be made again: all but plain characters as %XX.

    Any bytes may be in a file's name; Windows parts folders by a backslash, and has characters that no name may have.
    """
    return quote(os.fsencode(path), safe="/!#$&'()+,-.;=@[]^_`{}~ ")


FACTS = "page.json"
INDEX = "index.html"


class ZipWriter(Writer):
    """All files of each page; the list of pages grows beside the zip file, and comes into it at the end."""

    beside = (DIRECTORY, INDEX)

    def append(self, pages: Sequence[ExportedPage]) -> Failures:
        if not self.files[INDEX].tell():
            self.files[INDEX].write(PAGE_HEAD)
        with zip_part(self.files) as part:
            found = {page.snapshot.pk: self._append(page, part) for page in pages}
        return {key: problem for key, problem in found.items() if problem}

    def _append(self, page: ExportedPage, part: ZipPart) -> str:
        folder, names = folder_of(page), page.files()
        for name in names:
            part.add_file(page.folder / name, f"{folder}/{name_of(name)}")
        record = page.record()
        part.add_bytes(json.dumps(record, ensure_ascii=False, indent=1).encode("utf-8", "replace"), f"{folder}/{FACTS}")
        self.files[INDEX].write(_line(folder, page).encode("utf-8", "replace"))
        return "" if names else "It has no files: nothing was kept."

    def write_end(self) -> None:
        index = self.files[INDEX]
        index.write(PAGE_END)
        index.seek(0)
        with zip_part(self.files) as part:
            part.add(index, INDEX)
        end_zip(self.files)


def name_of(path: str) -> str:
    """A file's path as it stands in the zip: any bytes may be in its name, and Windows parts folders by a backslash."""
    return os.fsencode(path).decode("utf-8", "replace").replace("\\", "_")


def folder_of(page: ExportedPage) -> str:
    """At most 122 bytes, of the 255 that a name may have, since Windows allows 260 for a whole path."""
    one = page.snapshot
    return f"{one.created_at:%Y%m%d}-{one.domain[:100]}-{str(one.pk)[-12:]}"


def _line(folder: str, page: ExportedPage) -> str:
    one = page.snapshot
    about = f"{html.escape(one.url)}, {one.created_at:%Y-%m-%d}"
    shown = html.escape(one.title or one.url)
    return f'<li><a dir="auto" href="{html.escape(folder)}/">{shown}</a><small>{about}</small>\n'
