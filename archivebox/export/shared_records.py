"""Owns which records that several pages share are in an export already: each is written once."""

from pathlib import Path

from archivebox.export.writer import PartFiles
from archivebox.lib.warc import NotWarcError, open_record
from archivebox.storage.shared_bodies import is_linked_name

SHARED = "shared"
"""The file beside an export that has the ids of these records, a line each."""


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
