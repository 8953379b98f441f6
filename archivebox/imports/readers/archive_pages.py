"""Owns the pages of WARCs: each with the answers that belong to it, one page at a time."""

import errno
import os
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import BinaryIO

from archivebox.imports.answer import (
    ArchivedAnswer,
    fill_body,
    header_of,
    kind_of,
    read_header_lines,
    read_status,
)
from archivebox.imports.document import DOCUMENT_MOST, DocumentContent, DocumentReader
from archivebox.imports.http_body import ByteSource, UnknownCodingError
from archivebox.imports.page import ImportedPage, InterruptibleReader, NotImported, NotReadableError, SourceReport, Stop
from archivebox.imports.readers.belonging import answers_of_page
from archivebox.imports.readers.page_rules import HTML, mark_pages, redirects_to
from archivebox.imports.readers.unpacking import unpacked
from archivebox.imports.readers.warc_index import IndexedAnswer, WarcIndex
from archivebox.imports.readers.warc_records import ArchiveError, WarcSource, is_packed
from archivebox.imports.recording import PageRecording, text_outputs
from archivebox.imports.scratch import Scratch
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


class _StoppableSource:
    """Bytes of a body, which may be long: ``stop`` is called before each part of it."""

    def __init__(self, source: ByteSource, stop: Stop) -> None:
        self._source, self._stop = source, stop

    def read(self, size: int, /) -> bytes:
        self._stop()
        return self._source.read(size)


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
        fill_body(found, _StoppableSource(block, self.stop))
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
