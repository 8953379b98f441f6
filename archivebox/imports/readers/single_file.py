"""Reads pages that SingleFile saved: one HTML file, whose comment says of which page it is, and when it was saved."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from archivebox.contract.outcomes import Status
from archivebox.imports.answer import as_utc
from archivebox.imports.document import DOCUMENT_MOST, DocumentContent, DocumentReader
from archivebox.imports.page import ImportedFile, ImportedOutput, ImportedPage, NotImported, SourceReport
from archivebox.imports.readers.warc_index import plain_url
from archivebox.imports.recording import text_outputs
from archivebox.imports.scratch import Scratch

ENDINGS = (".html", ".htm", ".xhtml")
HEAD = 1 << 16
"""Bytes in which the comment stands."""
FILE = "singlefile.html"
_COMMENT = re.compile(rb"<!--\s{0,20}Page saved with SingleFile\s{0,20}(.{0,8000}?)-->", re.DOTALL)
_URL = re.compile(r"^\s*url:\s*(\S+)", re.MULTILINE)
_DATE = re.compile(r"^\s*saved date:\s*\w{3} (\w{3} \d{1,2} \d{4} [\d:]{8} GMT[+-]\d{4})", re.MULTILINE)


class SingleFilePage:
    """The one page of a file. ``url``, ``captured_at``: where somebody else knows them better than its comment."""

    def __init__(self, path: Path, url: str = "", captured_at: datetime | None = None) -> None:
        self._path = path
        comment = read_comment(path)
        self._url = plain_url(url) or url_in(comment)
        self._date = captured_at or date_in(comment) or datetime.fromtimestamp(path.stat().st_mtime, UTC)
        self._scratch: Scratch | None = None

    def report(self) -> SourceReport:
        return SourceReport("page saved by SingleFile", 1, 1, self._path.stat().st_size)

    def pages(self, after: str = "") -> Iterator[ImportedPage | NotImported]:
        if after:
            return
        if not self._url:
            yield NotImported(self._path.name, "It does not have the URL of its page.", self._path.name)
            return
        self._scratch = self._scratch or Scratch()
        folder = self._scratch.page_folder()
        content = self._read()
        file = ImportedFile(FILE, str(self._path))
        output = ImportedOutput("singlefile", Status.SUCCEEDED, (file,), FILE, self._date, self._date)
        yield ImportedPage(
            key=self._path.name, url=self._url, captured_at=self._date, title=content.title, mime_type="text/html",
            outputs=(output, *text_outputs(folder, content, "text/html")),
            done=partial(self._scratch.remove, folder),
        )  # fmt: skip

    def _read(self) -> DocumentContent:
        with self._path.open("rb") as file, DocumentReader() as documents:
            return documents.read(file.read(DOCUMENT_MOST), self._url, "text/html", "text/html; charset=utf-8")


def open_single_file(path: Path) -> SingleFilePage | None:
    is_saved = path.is_file() and path.name.lower().endswith(ENDINGS) and read_comment(path)
    return SingleFilePage(path) if is_saved else None


def read_comment(path: Path) -> str:
    """What SingleFile says of the page; empty where it has not saved it."""
    with path.open("rb") as file:
        found = _COMMENT.search(file.read(HEAD))
    return found[1].decode("utf-8", "replace") if found else ""


def url_in(comment: str) -> str:
    found = _URL.search(comment)
    return plain_url(found[1]) if found else ""


def date_in(comment: str) -> datetime | None:
    """The moment as JavaScript writes it, without the name of its zone."""
    found = _DATE.search(comment)
    try:
        return as_utc(datetime.strptime(found[1], "%b %d %Y %H:%M:%S GMT%z")) if found else None
    except (ValueError, OverflowError):
        return None
