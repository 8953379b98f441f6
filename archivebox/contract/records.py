"""Owns the vocabulary between hooks and engine: records on stdout, who takes them, how a run ended."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from archivebox.contract.reasons import Reason
from archivebox.lib import jsonl
from archivebox.lib.jsonl import JSON

__all__ = [
    "MAX_LINE",
    "EndReason",
    "LineReader",
    "Reason",
    "Record",
    "RecordHandler",
    "RefusedRecordError",
    "handler_for",
    "parse_line",
    "program_records",
    "register",
    "registered_types",
]

MAX_LINE = 1_000_000
"""Bytes of the longest line that is read as a record; longer ones are dropped and counted."""

MAX_VALUES = 10_000
"""Values in one record; a line of 1 MB may hold 300,000, which are 40 MB in memory."""


class EndReason(StrEnum):
    """Why a process ended."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMEOUT = "timeout"
    SEALED = "sealed"
    CANCELLED = "cancelled"
    LOST = "lost"


class RefusedRecordError(ValueError):
    """A record must not have an effect; the message says why, and its hook has failed."""


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON line of a hook; ``fields`` are all of it but its ``type``."""

    type: str
    fields: dict[str, JSON]


def parse_line(line: bytes) -> Record | None:
    """A line of a hook's stdout as a record; None if it is log text. Never raises, whatever the bytes."""
    if len(line) > MAX_LINE or line.count(b",") > MAX_VALUES or not line.lstrip().startswith(b"{"):
        return None
    fields = jsonl.loads(line)
    if fields is None:
        return None
    kind = fields.pop("type", None)
    return Record(kind, fields) if isinstance(kind, str) and kind else None


def program_records(output: bytes) -> list[Record]:
    """The Process records among the lines of an output: what it says of the programs that it runs."""
    return [record for record in map(parse_line, output.splitlines()) if record and record.type == "Process"]


_MAY_BE_RECORD = re.compile(rb"^[^\S\n]*\{.*$", re.MULTILINE)


@dataclass(slots=True)
class LineReader:
    """Cuts a stream of bytes into complete lines.

    ``offset`` is the position in the stream after the last complete line: a reader that starts there loses nothing.
    ``dropped`` counts lines above ``limit`` bytes, which are never kept in memory.
    """

    offset: int = 0
    limit: int = MAX_LINE
    dropped: int = 0
    _pending: bytearray = field(default_factory=bytearray)
    _skipped: int = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Complete lines, without their line feeds, that ``data`` brought."""
        lines: list[bytes] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._keep(data[start:end])
            self._read_lines(lines)
            start = end + 1
        self._keep(data[start:])
        return lines

    def feed_records(self, data: bytes) -> list[bytes]:
        """The same, without those complete lines that begin and end in ``data`` and are log text.

        A hook may print gigabytes of them, at two bytes a line.
        """
        first, last = data.find(b"\n"), data.rfind(b"\n")
        lines = self.feed(data[: first + 1])
        self._pass_by(data[first + 1 : last + 1], lines)
        self._keep(data[last + 1 :])
        return lines

    def _pass_by(self, whole: bytes, lines: list[bytes]) -> None:
        """Complete lines, with nothing pending before them."""
        self.offset += len(whole)
        if b"{" in whole:
            lines += [line.removesuffix(b"\r") for line in _MAY_BE_RECORD.findall(whole)]

    def pass_over(self, length: int) -> None:
        """So many bytes of the stream are gone: the line that they tear is dropped."""
        if length > 0:
            self._skipped += len(self._pending) + length
            self._pending.clear()

    def close(self) -> list[bytes]:
        """The last line where the stream ended without a line feed; nothing if there is none."""
        lines: list[bytes] = []
        if self._pending or self._skipped:
            self._read_lines(lines)
            self.offset -= 1  # there was no line feed
        return lines

    @property
    def position(self) -> int:
        """Bytes fed so far, the incomplete line included, counted from the start of the stream."""
        return self.offset + len(self._pending) + self._skipped

    def _keep(self, data: bytes) -> None:
        if self._skipped or len(self._pending) + len(data) > self.limit:
            self._skipped += len(self._pending) + len(data)
            self._pending.clear()
        else:
            self._pending += data

    def _read_lines(self, lines: list[bytes]) -> None:
        self.offset = self.position + 1
        if self._skipped:
            self.dropped += 1
        else:
            lines.append(bytes(self._pending).removesuffix(b"\r"))
        self._pending.clear()
        self._skipped = 0


class RecordHandler(Protocol):
    """What a model registers: it gets the fields of one record, and returns its row or None."""

    def __call__(self, fields: Mapping[str, JSON], overrides: Mapping[str, object], /) -> object: ...


_handlers: dict[str, RecordHandler] = {}


def register(record_type: str, handler: RecordHandler) -> None:
    """Have ``handler`` handle records of ``record_type``; ValueError if another one has that type."""
    if _handlers.setdefault(record_type, handler) != handler:
        raise ValueError(f"two models want the records of type {record_type}")


def handler_for(record_type: str) -> RecordHandler | None:
    """What handles records of this type; None for types nobody knows, which are kept in the log and counted."""
    return _handlers.get(record_type)


def registered_types() -> tuple[str, ...]:
    """The record types that have a handler."""
    return tuple(sorted(_handlers))
