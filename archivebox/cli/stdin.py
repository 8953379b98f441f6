"""Owns what commands read from stdin: whether it is a selection (an empty pipe selects nothing), and its records."""

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
NEW_CRAWL = frozenset({"tags_str", "label", "persona", "config", "max_depth"})
"""Fields of a Crawl that `add` has options for."""
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

    @property
    def urls(self) -> list[str]:
        """Those of a Crawl that is not here yet; BadInputError for what else it says and would be dropped."""
        for name in NEW_CRAWL & {name for name, value in self.fields.items() if value}:
            raise self.refusal(f"{name} of a new Crawl is not taken: `archivebox add --help` names the option")
        return str(self.fields.get("urls") or "").split()

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


def read_records(out: Output, *, urls: bool = False) -> list[StdinRecord]:
    """Read all records from stdin until it is closed; BadInputError for a line that is not a record.

    ``urls``: a line with a URL counts as the record of a page.
    """
    if sys.stdin is None:
        raise BadInputError("stdin is closed, so no record can be read from it. Nothing was done.")
    if not select.select([sys.stdin.buffer], [], [], SILENCE)[0]:
        out.warn("Waiting for records on stdin. To run without records, start this command with </dev/null.")
    return list(_records(urls=urls))


def _records(*, urls: bool) -> Iterator[StdinRecord]:
    number = 0
    while line := sys.stdin.buffer.readline(MAX_LINE + 1):
        number += 1
        if number > MOST_RECORDS:
            raise BadInputError(f"stdin has more than {MOST_RECORDS:,} lines: give a query instead. Nothing was done.")
        if not line.strip():
            continue
        record = parse_line(line)
        if record is None and urls and not line.lstrip().startswith(b"{"):
            yield StdinRecord(number, "Snapshot", {"url": line.decode("utf-8", "replace").strip()})
            continue
        if record is None:
            raise BadInputError(
                f"stdin, line {number} is not a JSON record with a type, such as `archivebox list` prints in a pipe. "
                "Nothing was done."
            )
        yield StdinRecord(number, record.type, record.fields)
