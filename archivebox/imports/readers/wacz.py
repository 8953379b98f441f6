"""Reads WACZ files (Web Archive Collection Zipped 1.1.1): the pages that they list, out of the WARCs in them."""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

from archivebox.base_models.transient import is_disk_full
from archivebox.imports.answer import parse_date
from archivebox.imports.page import NotReadableError, Stop
from archivebox.imports.readers.archive_pages import ArchivePages
from archivebox.imports.readers.unpacking import copy_bounded
from archivebox.imports.readers.warc import ENDINGS
from archivebox.imports.readers.warc_index import IndexedAnswer, WarcIndex, plain_url
from archivebox.imports.readers.warc_records import (
    RATIO_MOST,
    UNPACKED_ALWAYS,
    ArchiveError,
    FileSlice,
    WarcSource,
)
from archivebox.imports.scratch import Scratch
from archivebox.lib import jsonl

_LISTS = ("pages/pages.jsonl", "pages/extraPages.jsonl")
_ENTRIES_MOST = 50_000
_LINE_MOST = 16 << 20
"""Bytes of one page in a list: it may have the text of the page in it."""
_TEXT_MOST = 4_000_000
_LISTS_MOST = 2_000_000_000
_LOCAL_HEADER = struct.Struct("<4s22xHH")
"""Signature, and the lengths of name and extra field (APPNOTE 4.3.7)."""
_REDIRECTS_MOST = 10
_MULTI = "multi-wacz-package"


def open_wacz(path: Path) -> ArchivePages | None:
    """Its reader, which says NotReadableError where it is damaged, or holds nothing."""
    if not (path.is_file() and path.name.lower().endswith(".wacz")):
        return None
    scratch = Scratch()
    open_sources, list_pages = partial(_open_sources, path, scratch.path), partial(_list_pages, path)
    return ArchivePages("WACZ file", open_sources, scratch, path.stat().st_mtime, list_pages)


def _open_sources(path: Path, folder: Path, stop: Stop) -> list[WarcSource]:
    """The WARCs in it; what is packed is unpacked into ``folder``."""
    try:
        with zipfile.ZipFile(path) as archive:
            warcs = enumerate(_warcs(path, archive))
            return [_source(path, archive, one, folder / f"{number}.warc", stop) for number, one in warcs]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, zlib.error, ArchiveError) as error:
        if is_disk_full(error):
            raise
        raise NotReadableError(f"{path} cannot be read as a WACZ: {error}.") from None


def _warcs(path: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    entries = archive.infolist()
    if len(entries) > _ENTRIES_MOST:
        raise ArchiveError(f"it has more than {_ENTRIES_MOST:,} files in it")
    if sum(one.compress_size for one in entries) > path.stat().st_size:
        raise ArchiveError("files in it lie over one another")
    warcs = [one for one in entries if one.filename.lower().endswith(ENDINGS)]
    if not warcs:
        raise ArchiveError(_why_empty(archive))
    return warcs


def _why_empty(archive: zipfile.ZipFile) -> str:
    try:
        with archive.open("datapackage.json") as file:
            is_multi = json.loads(file.read(_LINE_MOST)).get("profile") == _MULTI
    except (KeyError, ValueError, AttributeError):
        is_multi = False
    return "it only names other WACZ files: import each of these" if is_multi else "it has no WARC in it"


def _source(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, stop: Stop) -> WarcSource:
    """What is stored is read where it lies; what is packed is unpacked first. Nothing is written by a name in it."""
    if entry.compress_type != zipfile.ZIP_STORED:
        with archive.open(entry) as packed, target.open("wb") as plain:
            copy_bounded(cast("BinaryIO", packed), plain, UNPACKED_ALWAYS + RATIO_MOST * entry.compress_size, stop)
        return WarcSource(entry.filename, target.stat().st_size, lambda: target.open("rb"))
    with path.open("rb") as file:
        file.seek(entry.header_offset)
        header = file.read(_LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\x03\x04"):
        raise ArchiveError(f"no file begins where {entry.filename[:100]!r} should")
    _, name, extra = _LOCAL_HEADER.unpack(header)
    start, size = entry.header_offset + _LOCAL_HEADER.size + name + extra, entry.file_size
    if start + size > path.stat().st_size:
        raise ArchiveError(f"{entry.filename[:100]!r} in it is not whole")
    return WarcSource(entry.filename, size, _opener(path, start, size))


def _opener(path: Path, start: int, size: int) -> Callable[[], BinaryIO]:
    return lambda: cast("BinaryIO", io.BufferedReader(FileSlice(path.open("rb"), start, size), 1 << 16))


def _list_pages(path: Path, index: WarcIndex, stop: Stop) -> bool:
    """Write what the WACZ lists into the index; whether it lists anything."""
    index.database.execute("BEGIN")
    with zipfile.ZipFile(path) as archive:
        for name in (name for name in _LISTS if name in archive.namelist()):
            for number, page in _lines(archive, name):
                stop()
                _insert(index, f"{name}:{number}", page)
    index.database.execute("COMMIT")
    return bool(index.database.execute("SELECT 1 FROM page LIMIT 1").fetchone())


def _lines(archive: zipfile.ZipFile, name: str) -> Iterator[tuple[int, dict[str, jsonl.JSON]]]:
    left = _LISTS_MOST
    with archive.open(name) as file:
        number = 0
        while left > 0 and (line := file.readline(_LINE_MOST)):
            number, left = number + 1, left - len(line)
            page = jsonl.loads(line.decode("utf-8", "replace"))
            if page and isinstance(page.get("url"), str):
                yield number, page


def _insert(index: WarcIndex, key: str, page: dict[str, jsonl.JSON]) -> None:
    given, date = str(page["url"]), parse_date(str(page.get("ts") or ""))
    url = plain_url(given)
    if not url:
        _insert_problem(index, key, given[:200], "It is not a web page.")
        return
    answer = _find(index, url, str(page.get("id") or ""), date.timestamp() if date else 0.0)
    if answer is None:
        _insert_problem(index, key, url, "The WACZ lists this page, but its document is not in it.")
        return
    title = " ".join(str(page.get("title") or "").split())
    text = page.get("text")
    row = (
        key, answer.id, url, date.timestamp() if date else answer.time, "" if title in {url, given} else title,
        text[:_TEXT_MOST] if isinstance(text, str) else "",
    )  # fmt: skip
    columns = "key, answer, url, time, title, text"
    index.database.execute(f"INSERT OR IGNORE INTO page ({columns}) VALUES (?, ?, ?, ?, ?, ?)", row)  # noqa: S608 - ours


def _insert_problem(index: WarcIndex, key: str, url: str, problem: str) -> None:
    index.database.execute("INSERT OR IGNORE INTO page (key, url, problem) VALUES (?, ?, ?)", (key, url, problem))


def _find(index: WarcIndex, url: str, page: str, time: float) -> IndexedAnswer | None:
    """The document of a page: what the redirects led to."""
    where = "page = ? AND url = ? AND method = 'GET' AND status NOT IN (0, 304) ORDER BY abs(time - ?) LIMIT 1"
    found = next(index.answers(where, page, url, time), None) if page else None
    found = found or index.nearest(url, time)
    for _ in range(_REDIRECTS_MOST):
        if found is None or not found.location:
            return found
        found = index.nearest(found.location, found.time)
    return None
