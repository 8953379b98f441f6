"""Owns the formats of exports."""

import csv
import io
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol
from uuid import UUID

from archivebox.export.pages import ExportedPage
from archivebox.export.zipped import ZipWriter
from archivebox.lib import jsonl

Failures = dict[UUID, str]


class Writer(Protocol):
    """Writes an export, part after part. Between two parts it may be closed, and taken up by another process."""

    length: int
    """Bytes that are whole so far."""

    def take_up(self, length: int) -> bool:
        """Go on behind the first ``length`` bytes; False: that cannot be, and it begins anew."""

    def back_to(self, length: int) -> None:
        """Forget what was written behind ``length``: a part that is done again."""

    def append(self, pages: Sequence[ExportedPage]) -> Failures: ...

    def finish(self) -> None:
        """All is there."""

    def close(self) -> None: ...


class StreamWriter(ABC):
    """A format of which each page is some bytes, one behind the other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.length = 0

    def take_up(self, length: int) -> bool:
        there = self._path.stat().st_size if self._path.exists() else 0
        self.length = length if there >= length else 0
        return there >= length

    def back_to(self, length: int) -> None:
        self.length = length

    def append(self, pages: Sequence[ExportedPage]) -> Failures:
        failures: Failures = {}
        with self._path.open("r+b" if self._path.exists() else "w+b") as file:
            file.truncate(self.length)
            file.seek(self.length)
            if not self.length:
                file.write(self.header())
            for page in pages:
                problem = self.write_page(page, file)
                if problem:
                    failures[page.snapshot.pk] = problem
            file.flush()
            self.length = file.tell()
        return failures

    def header(self) -> bytes:
        return b""

    @abstractmethod
    def write_page(self, page: ExportedPage, file: BinaryIO) -> str:
        """Write one page; why that could not be done."""

    def finish(self) -> None:
        with self._path.open("r+b") as file:
            file.truncate(self.length)

    def close(self) -> None:  # noqa: B027 - not to be overridden: there is nothing to close
        """Between two parts nothing is open."""


class JsonLines(StreamWriter):
    """One JSON object a page, its results in it; `archivebox add` reads it again."""

    def write_page(self, page: ExportedPage, file: BinaryIO) -> str:
        file.write(jsonl.dumps(page.record()))
        return ""


COLUMNS = ("id", "created_at", "bookmarked_at", "url", "title", "tags", "status", "kept", "failed", "bytes", "reasons")


class Csv(StreamWriter):
    """One line a page, with what was kept, and what failed for which reasons (RFC 4180)."""

    def header(self) -> bytes:
        return line(COLUMNS)

    def write_page(self, page: ExportedPage, file: BinaryIO) -> str:
        one, results = page.snapshot, page.results
        failed = [result for result in results if result.status == "failed"]
        file.write(
            line(
                (
                    str(one.pk),
                    one.created_at.isoformat(),
                    "" if one.bookmarked_at is None else one.bookmarked_at.isoformat(),
                    one.url,
                    one.title,
                    ",".join(page.tags),
                    one.status,
                    str(sum(result.status == "succeeded" for result in results)),
                    str(len(failed)),
                    str(sum(result.output_size for result in results)),
                    " ".join(f"{result.plugin}={result.reason}" for result in failed),
                )
            )
        )
        return ""


def line(cells: Sequence[str]) -> bytes:
    """A cell that a spreadsheet would run as a formula is made a text (OWASP, CSV injection)."""
    text = io.StringIO()
    csv.writer(text).writerow(
        [f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell for cell in cells]
    )
    return text.getvalue().encode()


class Warc(StreamWriter):
    """The WARC files that pages have, one behind the other: records that are compressed one by one may be joined."""

    def write_page(self, page: ExportedPage, file: BinaryIO) -> str:
        kept = [name for name in page.files() if name.endswith(".warc.gz")]
        for name in kept:
            with (page.snapshot.path / name).open("rb") as source:
                shutil.copyfileobj(source, file)
        return "" if kept else "It has no WARC file: no plugin kept one."


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One format: how its files end, their media type, and what people should know of it."""

    suffix: str
    media_type: str
    title: str
    writer: Callable[[Path], Writer]


FORMATS: dict[str, ExportFormat] = {
    "zip": ExportFormat(".zip", "application/zip", "All files, with a page that lists them", ZipWriter),
    "warc": ExportFormat(".warc.gz", "application/warc+gzip", "What was received, for replay elsewhere", Warc),
    "jsonl": ExportFormat(".jsonl", "application/x-ndjson", "Pages and results as JSON, one a line", JsonLines),
    "csv": ExportFormat(".csv", "text/csv", "A table of pages, with what failed", Csv),
}
