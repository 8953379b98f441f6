"""What one hook prints: the records in its stdout, read while it is written."""

import os
from typing import NamedTuple

from archivebox.contract.reasons import Reason
from archivebox.contract.records import LineReader, Record, parse_line
from archivebox.core.archiveresult import REFUSED, Declaration
from archivebox.lib.jsonl import JSON
from archivebox.lib.quantities import size
from archivebox.machine.logtail import TAIL
from archivebox.workers.execute.hooks.capped_log import CappedLog

BLOCK = 1 << 15
"""Bytes read at a time: no more than some hundred records."""
BLOCKS = 32
"""Blocks of a chunk, so that a hook that floods does not hold up the loop."""
ENOUGH = 500
"""Records after which a read ends: what is committed at a time keeps others from writing."""

SHORTEST = 100
"""Bytes that a line counts as at least: parsing a short one takes as long as that."""


class Chunk(NamedTuple):
    """What one read brought, and whether there may be more."""

    records: list[Record]
    more: bool


class RecordLimits(NamedTuple):
    """How much of one run of a hook is read as records. Links are counted where they are taken: per page."""

    records: int = 10_000
    """Most records, links that were found not among them."""
    size: int = 100_000_000
    """Most bytes of lines that are or may be records; a line counts as ``SHORTEST`` at least."""


class HookOutput:
    """Reader of one hook's stdout. ``declared`` is the last that the hook said of its own result."""

    def __init__(self, path: str, cap: int, limits: RecordLimits | None = None) -> None:
        self.path = path
        self.log = CappedLog(path, cap)
        self._limits = limits or RecordLimits()
        self.said: dict[str, JSON] | None = None
        """The fields of the last record of its own result, and why a record of it was refused."""
        self.left_out = ""
        """The reason code, where it printed more than is taken."""
        self._records = self._record_bytes = 0
        self._declared: Declaration | None = None
        self.size = 0
        """Bytes read so far."""
        self._end: int | None = None
        self._reader = LineReader()
        self._tail = b""

    def go_on_from(self, offset: int, said: dict[str, JSON] | None) -> None:
        """Read on where an earlier worker stopped, which had put on record what the hook had said by then."""
        self.said = said
        self._reader.offset = self.size = offset

    @property
    def refused(self) -> str:
        """The reason code of the first record that was refused; empty where all were taken."""
        return str((self.said or {}).get(REFUSED, ""))

    def refuse(self, code: str) -> None:
        """Remember why a record was not taken: whatever its hook says, it has failed."""
        if not self.refused:
            self.said, self._declared = {**(self.said or {}), REFUSED: code}, None

    @property
    def is_full(self) -> bool:
        """Whether it printed more records than are read; the rest counts as text."""
        return self.refused.startswith(Reason.TOO_MANY_RECORDS)

    @property
    def declared(self) -> Declaration | None:
        if self._declared is None and self.said is not None:
            self._declared = Declaration.of(Record("ArchiveResult", self.said))
        return self._declared

    @property
    def offset(self) -> int:
        """Bytes whose lines have been read completely."""
        return self._reader.offset

    @property
    def tail(self) -> str:
        """The last 2 KB as text."""
        return self._tail.decode("utf-8", "replace").replace("\0", "\ufffd")

    @property
    def is_beyond_cap(self) -> bool:
        return self.size > self.log.cap

    def ends_here(self) -> None:
        """Its hook has ended: what others may still write to the log is read no more."""
        self._end = self.log.size()

    def read(self) -> Chunk:
        """The records in the next blocks of what is new."""
        records: list[Record] = []
        for _ in range(BLOCKS):
            block = self._next_block()
            if not self.is_full:
                records += self._keep_within_limits(self._reader.feed_records(block))
            if len(block) < BLOCK or len(records) >= ENOUGH:
                return Chunk(records, len(block) == BLOCK)
        return Chunk(records, more=True)

    def close(self) -> list[Record]:
        """The record in a last line without a line feed, which counts as well."""
        return [] if self.is_full else self._keep_within_limits(self._reader.close())

    def _keep_within_limits(self, lines: list[bytes]) -> list[Record]:
        records = []
        for line in lines:
            record = parse_line(line)
            if self._is_beyond(line, record):
                break
            if record is not None and record.type == "ArchiveResult":
                refused = self.refused
                self.said, self._declared = record.fields, None
                self.said.pop(REFUSED, None)
                if refused:
                    self.refuse(refused)
            elif record is not None:
                records.append(record)
        return records

    def _is_beyond(self, line: bytes, record: Record | None) -> bool:
        """Count a line; whether there are more than may be, which is its hook's failure."""
        is_link = record is not None and record.type == "Snapshot" and not record.fields.get("id")
        self._records += record is not None and not is_link
        self._record_bytes += max(len(line), SHORTEST)
        if self._record_bytes > self._limits.size:
            self.refuse(Reason.TOO_MANY_RECORDS.of(f"{size(self._limits.size)} of records"))
        elif self._records > self._limits.records:
            self.refuse(Reason.TOO_MANY_RECORDS.of(f"{self._limits.records:,} records"))
        return self.is_full

    def _next_block(self) -> bytes:
        descriptor = self.log.descriptor
        if descriptor is None:
            return b""
        length = BLOCK if self._end is None else min(BLOCK, max(0, self._end - self.size))
        block = os.pread(descriptor, length, self.size)
        self.size += len(block)
        self._tail = (self._tail + block)[-TAIL:]
        return block
