"""Reads WARC and WACZ files: each page with the answers that belong to it, one page at a time."""

import errno
import gzip
import io
import json
import os
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

from archivebox.base_models.transient import is_disk_full
from archivebox.imports.answers import (
    ArchivedAnswer,
    PageRecording,
    UnknownCodingError,
    fill_body,
    header_of,
    kind_of,
    parse_date,
    read_header_lines,
    read_status,
    text_outputs,
)
from archivebox.imports.document import DOCUMENT_MOST, DocumentContent, DocumentReader
from archivebox.imports.import_folder import Scratch
from archivebox.imports.page import ImportedPage, InterruptibleReader, NotImported, NotReadableError, SourceReport, Stop
from archivebox.imports.readers.warc_index import (
    RATIO_MOST,
    UNPACKED_ALWAYS,
    ArchiveError,
    FileSlice,
    IndexedAnswer,
    WarcIndex,
    WarcSource,
    is_packed,
    plain_url,
)
from archivebox.imports.readers.warc_pages import HTML, answers_of_page, mark_pages, redirects_to
from archivebox.lib import jsonl
from archivebox.lib.warc import NotWarcError, RecordBlock, open_record

PAGE_MOST = 2_000_000_000
"""Bytes of the answers of one page."""
FRAMES_READ_MOST = 4 << 20
"""Bytes of a document in which frames are looked for."""
_REQUEST_MOST = 1 << 20
_PROBLEMS = (ArchiveError, sqlite3.Error, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)
"""What a damaged archive causes."""
_NEXT_PAGE = """
    SELECT number, key, answer, url, time, title, text, problem FROM page WHERE number > ? ORDER BY number LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page as its archive lists it. ``text``: what the archive has of it, which may be more than its HTML says."""

    key: str
    url: str
    time: float
    title: str = ""
    text: str = ""


class _Body:
    """Bytes of a body, which may be long: ``stop`` is called before each part of it."""

    def __init__(self, block: RecordBlock, tell: Callable[[], int], stop: Stop) -> None:
        self._block, self.tell, self._stop = block, tell, stop

    def read(self, size: int, /) -> bytes:
        self._stop()
        return self._block.read(size)


class ArchivePages(InterruptibleReader):
    """A reader of what lies in WARCs.

    ``open_sources``: the WARCs, which may have to be written first. ``list_pages``: writes the pages into the index
    where the source lists them; whether it does.
    """

    def __init__(
        self,
        kind: str,
        open_sources: Callable[[Stop], Sequence[WarcSource]],
        scratch: Scratch,
        since: float,
        list_pages: Callable[[WarcIndex, Stop], bool] = lambda _index, _stop: False,
    ) -> None:
        self._kind, self._open_sources, self._scratch, self._since = kind, open_sources, scratch, since
        self._list_pages = list_pages
        self._sources: list[WarcSource] = []
        self._files: dict[int, BinaryIO] = {}
        self._index: WarcIndex | None = None
        self._documents = DocumentReader()
        self._by_time = False

    @property
    def index(self) -> WarcIndex:
        """What was found in the files, read when it is needed; NotReadableError."""
        if self._index is None:
            self._sources = list(self._open_sources(self.stop))
            try:
                self._index = self._read_all()
            except _PROBLEMS as error:
                if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
                raise NotReadableError(f"{self._sources[0].name[:200]} cannot be read: {error}.") from None
        return self._index

    def report(self) -> SourceReport:
        database = self.index.database
        (pages,) = database.execute("SELECT count(*) FROM page WHERE problem IS NULL").fetchone()
        (answers,) = database.execute("SELECT count(*) FROM answer").fetchone()
        missing = database.execute("SELECT url, problem FROM page WHERE problem IS NOT NULL LIMIT 1000")
        damage = database.execute("SELECT item, reason FROM damage LIMIT 1000")
        problems = (*(NotImported(*row) for row in damage), *(NotImported(*row) for row in missing))
        return SourceReport(self._kind, pages, answers, sum(one.size for one in self._sources), problems)

    def pages(self, after: str = "") -> Iterator[ImportedPage | NotImported]:
        database = self.index.database
        number = 0
        if after:
            (number,) = database.execute("SELECT number FROM page WHERE key = ?", (after,)).fetchone() or (0,)
        else:
            yield from (NotImported(*row) for row in database.execute("SELECT item, reason FROM damage").fetchall())
        while row := database.execute(_NEXT_PAGE, (number,)).fetchone():
            number, key, answer, url, time, title, text, problem = row
            if problem:
                yield NotImported(url, problem)
                continue
            found = next(self.index.answers("id = ?", answer))
            yield self._page(found, ListedPage(key, url, time, title or "", text or ""))

    # --- the index ----------------------------------------------------------------------------------------------

    def _read_all(self) -> WarcIndex:
        index = WarcIndex(self._scratch.path / "index.sqlite3")
        for number in index.fill(self._sources, self._since, self.stop):
            target = self._scratch.path / f"unpacked-{number}.warc"
            self._sources[number] = unpacked(self._sources[number], target, self.stop)
            index.fill_one(number, self._sources[number], self._since, self.stop)
        index.join()
        self._index = index  # frames are read out of it
        if not self._list_pages(index, self.stop):
            mark_pages(index, [source.name for source in self._sources], self._frames)
        has_page_names = index.database.execute("SELECT 1 FROM answer WHERE page != '' LIMIT 1").fetchone()
        self._by_time = self._kind == "WACZ file" and not has_page_names
        return index

    def _frames(self, answer: IndexedAnswer) -> DocumentContent:
        """What is found without the text: frames."""
        self.stop()
        found = self._load_or_none(answer)
        if found is None:
            return DocumentContent()
        data = found.head_of_body(FRAMES_READ_MOST)
        content_type = header_of(found.headers, "content-type")
        found.close()
        return self._documents.read(data, answer.url, answer.mime, content_type, with_text=False)

    # --- a page -------------------------------------------------------------------------------------------------

    def _page(self, answer: IndexedAnswer, listed: ListedPage) -> ImportedPage | NotImported:
        url = listed.url
        try:
            main = self._load(answer)
        except UnknownCodingError as error:
            return NotImported(url, f"It is packed in a way that cannot be read here: {error}.", listed.key)
        if main is None:
            reason = "Its content is not in the file: a record says only that it had not changed."
            return NotImported(url, reason, listed.key)
        folder = self._scratch.page_folder()
        recording = PageRecording(folder / "warc", answer.date, self._kind, self.stop)
        content_type = header_of(main.headers, "content-type")
        content = self._documents.read(main.head_of_body(DOCUMENT_MOST), main.url, main.mime, content_type)
        main.is_main, main.kind = True, "Document"
        redirects = list(redirects_to(self.index, answer)) if url != answer.url else []
        for one in reversed(redirects):
            self._add(recording, one, is_main=True)
        recording.add(main)
        self._add_others(recording, answer, content, {answer.id, *(one.id for one in redirects)})
        outputs = (*recording.close(), *text_outputs(folder, content, main.mime, listed.text))
        return ImportedPage(
            key=listed.key, url=url, captured_at=datetime.fromtimestamp(listed.time, UTC),
            title=listed.title or content.title, final_url=answer.url if answer.url != url else "",
            http_status=main.status, mime_type=main.mime, outputs=outputs,
            done=partial(self._scratch.remove, folder),
        )  # fmt: skip

    def _add_others(
        self, recording: PageRecording, answer: IndexedAnswer, content: DocumentContent, own: set[int]
    ) -> None:
        for one in answers_of_page(self.index, answer, content, self._named_in, by_time=self._by_time):
            if one.id not in own and recording.size < PAGE_MOST:
                own.add(one.id)
                self._add(recording, one)

    def _named_in(self, answer: IndexedAnswer) -> Sequence[str]:
        """What a style sheet or a frame names."""
        if answer.mime not in {*HTML, "text/css"} or not (found := self._load_or_none(answer)):
            return ()
        data = found.head_of_body(FRAMES_READ_MOST)
        content_type = header_of(found.headers, "content-type")
        found.close()
        return self._documents.read(data, answer.url, answer.mime, content_type).resources

    def _add(self, recording: PageRecording, answer: IndexedAnswer, *, is_main: bool = False) -> None:
        found = self._load_or_none(answer)
        if found is not None:
            found.is_main, found.kind = is_main, "Document" if is_main else found.kind
            recording.add(found)

    def _load_or_none(self, answer: IndexedAnswer) -> ArchivedAnswer | None:
        try:
            return self._load(answer)
        except UnknownCodingError:
            return None

    # --- records ------------------------------------------------------------------------------------------------

    def _load(self, answer: IndexedAnswer) -> ArchivedAnswer | None:
        """The answer with its body; None where that is in another file. UnknownCodingError."""
        if answer.type == "revisit":
            return self._load_revisit(answer)
        fields, block = self._open(answer.source, answer.offset)
        found = ArchivedAnswer(answer.url, answer.date, method=answer.method, referrer=answer.referrer)
        found.truncated = fields.get("warc-truncated", "")
        if answer.type == "resource":
            found.headers = [("Content-Type", fields.get("content-type", "application/octet-stream"))]
        else:
            found.status, found.reason = read_status(block)
            found.headers = read_header_lines(block)
        file, packed = self._files[answer.source], self._sources[answer.source].packed
        body = _Body(block, lambda: min(file.tell() - answer.offset, packed), self.stop)
        if fill_body(found, body) and found.mime in {*HTML, "text/css"}:
            found.close()
            raise UnknownCodingError(f"it is more than {RATIO_MOST} times as large as in the file")
        self._describe(found, answer)
        return found

    def _load_revisit(self, answer: IndexedAnswer) -> ArchivedAnswer | None:
        """With the body of the answer that it speaks of, and the headers of its own where it has them."""
        original = self.index.original_of(answer)
        found = self._load(original) if original is not None else None
        if found is None:
            return None
        _, block = self._open(answer.source, answer.offset)
        status, reason = read_status(block)
        if status not in {0, 304}:
            found.status, found.reason, found.headers = status, reason, read_header_lines(block)
        found.url, found.date, found.method, found.referrer = answer.url, answer.date, answer.method, answer.referrer
        self._describe(found, answer)
        return found

    def _describe(self, found: ArchivedAnswer, answer: IndexedAnswer) -> None:
        found.kind = kind_of(found.mime, answer.destination)
        if answer.request is not None:
            _, block = self._open(answer.request_source, answer.request)
            found.request = block.read(_REQUEST_MOST)

    def _open(self, source: int, offset: int) -> tuple[dict[str, str], RecordBlock]:
        if source not in self._files:
            self._files[source] = self._sources[source].open()
        file = self._files[source]
        packed = is_packed(file)
        file.seek(offset)
        try:
            fields, block = open_record(file, is_packed=packed)
        except NotWarcError as error:
            name = self._sources[source].name[:200]
            raise NotReadableError(f"{name} has changed while it was read: {error}.") from None
        return dict(fields), block


# --- files ------------------------------------------------------------------------------------------------------------
_READ = 1 << 20


def unpacked(source: WarcSource, target: Path, stop: Stop) -> WarcSource:
    """The same, plain; what is behind a damaged place is not there. ArchiveError for a bomb."""
    most = UNPACKED_ALWAYS + RATIO_MOST * source.size
    with source.open() as file, target.open("wb") as plain:
        copy_bounded(gzip.GzipFile(fileobj=file), plain, most, stop)
    return WarcSource(source.name, target.stat().st_size, lambda: target.open("rb"), source.size)


def copy_bounded(packed: "gzip.GzipFile | BinaryIO", plain: BinaryIO, most: int, stop: Stop) -> None:
    """Write what can be unpacked; ArchiveError beyond so many bytes. ``stop`` is called before each block."""
    count = 0
    try:
        while data := packed.read(_READ):
            stop()
            count += len(data)
            if count > most:
                raise ArchiveError(
                    f"it unpacks to more than {RATIO_MOST} times its size, which no archive of pages does"
                )
            plain.write(data)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return


ENDINGS = (".warc", ".warc.gz")


def warc_reader(paths: Sequence[Path]) -> ArchivePages:
    """One reader of several files, because a record may speak of a body that is in another."""
    sources = [WarcSource(path.name, path.stat().st_size, lambda path=path: path.open("rb")) for path in paths]  # type: ignore[misc]  # bound now
    since = min(path.stat().st_mtime for path in paths)
    kind = "WARC file" if len(paths) == 1 else "WARC files"
    return ArchivePages(kind, lambda _stop: sources, Scratch(), since)


def open_warc(path: Path) -> ArchivePages | None:
    return warc_reader([path]) if path.is_file() and path.name.lower().endswith(ENDINGS) else None


# --- WACZ -------------------------------------------------------------------------------------------------------------
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
        return WarcSource(entry.filename, target.stat().st_size, lambda: target.open("rb"), entry.compress_size)
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
