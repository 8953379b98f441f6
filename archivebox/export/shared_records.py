"""Owns the WARC files of pages as an export has them: a record that pages share is written once, or for each page."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from archivebox.export.expanded_records import ExpandedRecords
from archivebox.export.writer import PartFiles
from archivebox.lib.warc import NotWarcError, open_record
from archivebox.storage.shared_bodies import is_linked_name

SHARED = "shared"
"""The file beside an export that has the ids of the shared records in it, a line each."""
EXPANDED = "expanded"
"""The one that has a WARC file of a page with whole records, while it is copied."""


class Recordings:
    """Those of one export. ``expand``: no record refers to another one."""

    beside = (SHARED, EXPANDED)

    def __init__(self, files: PartFiles, *, expand: bool) -> None:
        self._files, self._expand = files, expand
        self._shared = SharedRecords(files)

    def of_page(self, paths: Sequence[Path]) -> Iterator[Path]:
        """What is to be written of a page's WARC files, each until the next is asked for."""
        if not self._expand:
            yield from filter(self._shared.is_new, paths)
            return
        yield from ExpandedRecords(paths).files(self._files[EXPANDED])
        self._files[EXPANDED].truncate(0)


class SharedRecords:
    """Those of one export; another process that continues it reads them again."""

    def __init__(self, files: PartFiles) -> None:
        self._files = files
        self._written: set[str] = set()
        self._length = 0

    def is_new(self, path: Path) -> bool:
        """Whether a WARC file of a page is to be written: False for a shared record that was written before."""
        if not is_linked_name(path.name):
            return True
        record = _record_id(path)
        self._read()
        if record in self._written:
            return False
        if record:
            self._length += self._files[SHARED].write(f"{record}\n".encode())
            self._written.add(record)
        return True

    def _read(self) -> None:
        file = self._files[SHARED]
        if file.tell() != self._length:
            file.seek(0)
            self._written = {line.decode().strip() for line in file}
            self._length = file.tell()


def _record_id(path: Path) -> str:
    """Of the one record in the file; empty where none is."""
    try:
        with path.open("rb") as file:
            fields, _ = open_record(file, is_packed=True)
            return fields.get("warc-record-id", "")
    except (OSError, NotWarcError):
        return ""
