"""Owns reading web archives for the addresses of their pages: WARC, packed or not, and WACZ."""

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

from archivebox.lib import jsonl
from archivebox.lib.links.dates import iso
from archivebox.lib.links.link import Link, LinkFileError
from archivebox.lib.links.text import LONGEST_LINE
from archivebox.lib.warc import NotWarcError, read_headers, records

PACKED, ZIPPED = b"\x1f\x8b", b"PK\x03\x04"
UNPACKED_MOST = 4_000_000_000
"""Bytes that are unpacked at most: a bomb would go on for hours."""
RATIO_MOST, UNPACKED_ALWAYS = 30, 16_000_000
"""What unpacks to more than so many times its size, and so many bytes besides, is a bomb; text packs to a tenth."""
_HEAD = 1 << 16
"""Bytes of a record in which its HTTP headers lie."""
_PAGES = ("text/html", "application/xhtml+xml")
_LISTS = ("pages/pages.jsonl", "pages/extraPages.jsonl")


def read(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """Each page that was answered with 200, and when; LinkFileError where it cannot be read."""
    left = _ReadBudget(file.seek(0, io.SEEK_END))
    file.seek(0)
    try:
        if _begins(file, ZIPPED):
            yield from _read_wacz(file, left)
        else:
            yield from _read_warc(file, left, packed=_begins(file, PACKED))
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise LinkFileError(f"is not a whole web archive ({error})") from None
    except NotWarcError as error:
        raise LinkFileError(f"is not a WARC file: a record begins with {error}") from None


def _begins(file: BinaryIO, start: bytes) -> bool:
    found = file.read(len(start))
    file.seek(0)
    return found == start


def _read_wacz(wacz: BinaryIO, left: "_ReadBudget") -> Iterator[Link]:
    """It lists its pages; where it does not, they are in its WARCs."""
    with zipfile.ZipFile(wacz) as archive:
        names = archive.namelist()
        lists = [name for name in _LISTS if name in names]
        warcs = [name for name in names if name.endswith((".warc", ".warc.gz"))]
        if not lists and not warcs:
            raise LinkFileError("is a ZIP file, but not a WACZ file: it has neither pages nor a WARC in it")
        for name in lists or warcs:
            with archive.open(name) as part:
                file = _bounded(part, left)
                yield from _read_list(file) if lists else _read_warc(file, left, packed=name.endswith(".gz"))


def _read_list(file: BinaryIO) -> Iterator[Link]:
    """``pages.jsonl`` (Web Archive Collection Zipped 1.1, 5.2.1); its first line names the format."""
    while line := file.readline(LONGEST_LINE):
        page = jsonl.loads(line.decode("utf-8", "replace")) or {}
        if isinstance(url := page.get("url"), str):
            title = " ".join(str(page.get("title") or "").split())
            yield Link(0, url, title, date=iso(str(page.get("ts") or "")))


def _read_warc(file: BinaryIO, left: "_ReadBudget", *, packed: bool) -> Iterator[Link]:
    plain = _bounded(gzip.GzipFile(fileobj=file), left) if packed else file
    for record, content in records(plain, _HEAD):
        if record.get("warc-type") == "response" and _is_page(content):
            url = record.get("warc-target-uri", "").strip("<>")
            yield Link(0, url, date=iso(record.get("warc-date", "")))


def _is_page(content: bytes) -> bool:
    answer = io.BytesIO(content)
    status = answer.readline().split(b" ")[1:2]
    return status == [b"200"] and read_headers(answer).get("content-type", "").lower().startswith(_PAGES)


class _ReadBudget:
    """Bytes that may still be unpacked, of all parts together."""

    def __init__(self, size: int) -> None:
        self._by_ratio = UNPACKED_ALWAYS + RATIO_MOST * size
        self._taken = 0

    def spend(self, count: int) -> None:
        self._taken += count
        if self._taken > UNPACKED_MOST:
            raise LinkFileError(f"holds more than {UNPACKED_MOST // 1_000_000_000} GB")
        if self._taken > self._by_ratio:
            raise LinkFileError(f"unpacks to more than {RATIO_MOST} times its size, which no archive of pages does")


class _Bounded(io.RawIOBase):
    """What is unpacked from a file, as far as that may be."""

    def __init__(self, file: BinaryIO, left: _ReadBudget) -> None:
        self._file, self._left = file, left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed asks for any buffer
        data = self._file.read(len(buffer))
        self._left.spend(len(data))
        buffer[: len(data)] = data
        return len(data)


def _bounded(file: object, left: _ReadBudget) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(_Bounded(cast("BinaryIO", file), left)))
