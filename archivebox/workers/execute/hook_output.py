"""What one hook prints: its stdout, read while it is written, and kept on the disk up to a cap."""

import os
from pathlib import Path

from archivebox.contract.records import LineReader, Record, parse_line
from archivebox.core.archiveresult import Declaration, declared_in, read_records
from archivebox.lib import processes
from archivebox.machine.logtail import TAIL, open_log

CHUNK = 1 << 20
"""Bytes of output read at a time, so that a hook that floods does not hold up the loop."""
MOST_WITHOUT_HOLES = 16
"""So many times the cap may be on a disk that cannot give back the middle of a file, before the hook is ended."""


class HookOutput:
    """Reader of one hook's stdout log. ``declared`` is the last that the hook said of its own result."""

    def __init__(self, path: Path, cap: int) -> None:
        self.path = path
        self.cap = cap
        self.declared: Declaration | None = None
        self.size = 0
        """Bytes read so far."""
        self.cut = False
        """Whether the disk of what was read beyond the cap was given back."""
        self.overflows = False
        """Whether it grows beyond all measure on a disk that cannot give back the middle of a file."""
        self._reader = LineReader()
        self._tail = b""
        self._log_fd: int | None = None

    def go_on_from(self, offset: int) -> None:
        """Read on where an earlier worker stopped; what the hook declared before then stands in the log."""
        self.declared = declared_in(read_records(self.path))
        self._reader.offset = self.size = offset

    @property
    def offset(self) -> int:
        """Bytes whose lines have been read completely."""
        return self._reader.offset

    @property
    def tail(self) -> str:
        """The last 2 KB as text."""
        return self._tail.decode("utf-8", "replace").replace("\0", "\ufffd")

    # --- reading ----------------------------------------------------------------------------------------------

    def read(self) -> tuple[list[Record], bool]:
        """The records in the next megabyte of what is new, and whether there may be more."""
        data = self._next_chunk()
        return self._take(self._reader.feed(data)), len(data) == CHUNK

    def read_to_end(self) -> list[Record]:
        """The records in all that is new; the log is written no more."""
        records, more = self.read()
        while more:
            further, more = self.read()
            records += further
        return records

    def close(self) -> list[Record]:
        """Let go of the log; the record in a last line without a line feed, which counts as well."""
        if self._log_fd is not None:
            os.close(self._log_fd)
            self._log_fd = None
        return self._take(self._reader.close())

    def _take(self, lines: list[bytes]) -> list[Record]:
        records = []
        for line in lines:
            record = parse_line(line)
            if record is not None and record.type == "ArchiveResult":
                self.declared = Declaration.of(record)
            elif record is not None:
                records.append(record)
        return records

    def _next_chunk(self) -> bytes:
        if self._log_fd is None:
            self._log_fd = open_log(self.path, os.O_RDWR)
            if self._log_fd is None:
                return b""
        data = os.pread(self._log_fd, CHUNK, self.size)
        self.size += len(data)
        self._tail = (self._tail + data)[-TAIL:]
        self._let_go_beyond_cap(self._log_fd, len(data))
        return data

    def _let_go_beyond_cap(self, descriptor: int, length: int) -> None:
        """Give back the disk of what was read beyond the cap. Never truncated: that loses lines being written."""
        if not length or self.size <= self.cap:
            return
        self.cut = True
        start = max(self.cap, self.size - length)
        if not processes.punch_hole(descriptor, start, self.size - start):
            self.overflows = self.size > MOST_WITHOUT_HOLES * self.cap
