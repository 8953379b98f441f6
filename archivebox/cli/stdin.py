"""Owns what commands read from stdin: whether it is a selection, and the records on it."""

import os
import select
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Output
from archivebox.contract.records import MAX_LINE, parse_line
from archivebox.lib.jsonl import JSON

STDIN = "-"
"""The argument that forces reading, whatever stdin is."""
MOST_RECORDS = 1_000_000
SILENCE = 3.0
"""Seconds after which it is said that records are waited for: who holds a pipe open may not know that it is read."""


@dataclass(frozen=True, slots=True)
class StdinRecord:
    """A record, and the number of its line."""

    line: int
    type: str
    fields: dict[str, JSON]

    @property
    def key(self) -> UUID | None:
        """Its id; None where it has none. BadInputError where that is no id."""
        text = self.fields.get("id")
        if text is None:
            return None
        try:
            return UUID(str(text))
        except ValueError:
            raise self.refusal(f"{str(text)[:100]!r} is not an id") from None

    def refusal(self, why: str) -> BadInputError:
        return BadInputError(f"stdin, line {self.line}: {why}. Nothing was done.")


def is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def is_selection() -> bool:
    """Whether stdin is a pipe or a regular file. The descriptor of a closed one may be that of any file by now."""
    if sys.stdin is None:
        return False
    mode = os.fstat(sys.stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def read_records(out: Output) -> list[StdinRecord]:
    """All records on stdin, once whoever writes them has closed it; BadInputError where a line is none."""
    if sys.stdin is None:
        raise BadInputError("stdin is closed, so no record can be read from it. Nothing was done.")
    if not select.select([sys.stdin.buffer], [], [], SILENCE)[0]:
        out.warn("Waiting for records on stdin. To run without records, start this command with </dev/null.")
    return list(_records())


def _records() -> Iterator[StdinRecord]:
    number = 0
    while line := sys.stdin.buffer.readline(MAX_LINE + 1):
        number += 1
        if number > MOST_RECORDS:
            raise BadInputError(f"stdin has more than {MOST_RECORDS:,} lines: give a query instead. Nothing was done.")
        if not line.strip():
            continue
        record = parse_line(line)
        if record is None:
            raise BadInputError(
                f"stdin, line {number} is not a JSON record with a type, such as `archivebox list` prints in a pipe. "
                "Nothing was done."
            )
        yield StdinRecord(number, record.type, record.fields)
