"""Owns the formats of exports."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from archivebox.export import TITLES
from archivebox.export.collection import CollectionWriter
from archivebox.export.expanded_records import EXPANDED, end_of_records, whole_recordings
from archivebox.export.lists import Bookmarks, HtmlList
from archivebox.export.pages import ExportedPage
from archivebox.export.site.writer import SiteWriter
from archivebox.export.wacz import WaczWriter
from archivebox.export.writer import StreamWriter, Writer
from archivebox.export.zip_parts import ZipWriter
from archivebox.lib import jsonl
from archivebox.lib.csv_lines import csv_line


class JsonLines(StreamWriter):
    """One JSON object a page, its results in it; `archivebox add` reads it again."""

    def write_page(self, page: ExportedPage, file: BinaryIO) -> str:
        file.write(jsonl.dumps(page.record()))
        return ""


COLUMNS = ("id", "created_at", "bookmarked_at", "url", "title", "tags", "status", "kept", "failed", "bytes", "reasons")


class Csv(StreamWriter):
    """One line a page, with what was kept, and what failed for which reasons (RFC 4180)."""

    def header(self) -> bytes:
        return csv_line(COLUMNS).encode()

    def write_page(self, page: ExportedPage, file: BinaryIO) -> str:
        one, results = page.snapshot, page.results
        failed = [result for result in results if result.status == "failed"]
        file.write(
            csv_line(
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
            ).encode()
        )
        return ""


class Warc(StreamWriter):
    """The WARC files that pages have, one behind the other: records that are compressed one by one may be joined.

    Each page has its records whole: behind one that is damaged nothing could be read, there or in the export.
    """

    beside = (EXPANDED,)
    holds_files = True

    def write_page(self, page: ExportedPage, file: BinaryIO) -> str:
        kept, damaged = page.recordings(), list[str]()
        for path in whole_recordings(kept, self.files):
            end = file.tell() + end_of_records(path)
            with path.open("rb") as source:
                shutil.copyfileobj(source, file)
            if file.tell() > end:
                damaged.append(path.name)
                file.truncate(end)
                file.seek(end)
        if damaged:
            return f"Damaged, and left out from there on: {', '.join(damaged)}."
        return "" if kept else "It has no WARC file: no plugin kept one."


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One format: how its files end, their media type, and what writes them."""

    suffix: str
    media_type: str
    title: str
    writer: Callable[[Path], Writer]


_WRITERS: dict[str, tuple[str, str, Callable[[Path], Writer]]] = {
    "zip": (".zip", "application/zip", ZipWriter),
    "archivebox": (".archivebox.zip", "application/zip", CollectionWriter),
    "site": (".site.zip", "application/zip", SiteWriter),
    "wacz": (".wacz", "application/wacz", WaczWriter),
    "warc": (".warc.gz", "application/warc+gzip", Warc),
    "jsonl": (".jsonl", "application/x-ndjson", JsonLines),
    "csv": (".csv", "text/csv", Csv),
    "bookmarks": (".bookmarks.html", "text/html", Bookmarks),
    "html": (".html", "text/html", HtmlList),
}
FORMATS = {
    name: ExportFormat(suffix, media_type, TITLES[name], writer)
    for name, (suffix, media_type, writer) in _WRITERS.items()
}
