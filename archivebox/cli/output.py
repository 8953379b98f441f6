"""Owns everything that is printed: tables, trees and sentences on a terminal, JSON lines in a pipe."""

import errno
import os
import re
import select
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO, cast

from archivebox.cli.errors import TerminalStream
from archivebox.lib import jsonl
from archivebox.lib.quantities import size
from archivebox.lib.system_calls import wakeup_pipe

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree

Record = Mapping[str, object]
"""What one line says: field names of the models → values."""

NAMES_SHOWN = 10
"""Of a list in which each has its own line."""
GAP = 3
"""Letters between two columns, and about a table."""
READABLE = 20
"""Letters of a line below which sentences are a ladder."""
LONGEST_WORD = 36
"""Letters of a word up to which a column is made wide enough for it: an id has 36. URLs are broken anywhere."""
DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""What writing to a file says while its disk, or its owner's part of it, is full."""
_C1 = re.compile("[\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its heading, and the record's field or a function of the record."""

    title: str
    cell: str | Callable[[Record], object]
    right: bool = False
    wraps: bool = False

    def text(self, record: Record) -> str:
        value = record.get(self.cell) if isinstance(self.cell, str) else self.cell(record)
        return plain(value)


@dataclass(slots=True)
class Node:
    """One line of a tree. ``text`` is for people, ``record`` for programs; ``mark`` is a style of rich."""

    text: str
    record: Record
    mark: str = ""
    children: "list[Node]" = field(default_factory=list)


def plain(value: object) -> str:
    """A value as a table shows it, on one line; archived pages cannot steer the terminal with it."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, Mapping):
        return ", ".join(f"{plain(name)} {plain(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value)
    return printable(str(value))


def printable(text: str) -> str:
    """``text`` without control characters: an escape sequence in a page's title must not reach the terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char in "\n\t" else "\ufffd" for char in text)


def _drop_unwritten(stream: TextIO) -> None:
    """Empty the buffers of a stream that could not be written."""
    descriptor = stream.fileno()
    kept, nowhere = os.dup(descriptor), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, descriptor)
        stream.flush()
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)
        os.close(nowhere)


def counted(number: int, noun: str) -> str:
    """``1 page``, ``2,000 pages``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class Output:
    """One command's output. ``is_for_people`` tells a terminal from a pipe; ``--json`` makes it a pipe."""

    def __init__(self, *, json: bool = False, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self._stdout = cast("TextIO", TerminalStream(stdout or sys.stdout))
        self._stderr = cast("TextIO", TerminalStream(stderr or sys.stderr))
        self.is_for_people = not json and self._stdout.isatty()

    # --- sentences --------------------------------------------------------------------------------------------

    def say(self, sentence: str) -> None:
        """A sentence for people. In a pipe it goes to stderr: stdout is for programs."""
        self._tell(self._stdout if self.is_for_people else self._stderr, f"{printable(sentence)}\n")

    def warn(self, sentence: str) -> None:
        self._tell(self._stderr, f"{printable(sentence)}\n")

    def warn_each(self, what: str, names: Sequence[object]) -> None:
        """``what`` is wrong with each of these: a line each, and how many more there are."""
        for name in names[:NAMES_SHOWN]:
            self.warn(f"{what}: {name}")
        if len(names) > NAMES_SHOWN:
            self.warn(f"{what}: {len(names) - NAMES_SHOWN:,} more.")

    def trace(self, text: str) -> None:
        """A traceback that no log can take, because there is no collection yet."""
        self._tell(self._stderr, text)

    def text(self, text: str) -> None:
        """Text that was asked for as it is: a value, a help page, a version."""
        self._write(self._stdout, text)

    def log(self, data: bytes) -> None:
        """Bytes of a log; on a terminal without what would steer it."""
        text = data.decode("utf-8", "replace")
        if self._stdout.isatty():
            text = "\n".join(printable(line) for line in text.split("\n"))
        self._write(self._stdout, text)

    @classmethod
    def _tell(cls, stream: TextIO, text: str) -> None:
        """Write what people may do without: a server whose log is on a full disk goes on.

        What could not be written is dropped: the interpreter would try it once more at its exit, and end in error.
        """
        try:
            cls._write(stream, text)
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            _drop_unwritten(stream)

    @staticmethod
    def _write(stream: TextIO, text: str) -> None:
        stream.write(text.encode("utf-8", "replace").decode("utf-8"))
        stream.flush()

    # --- records ----------------------------------------------------------------------------------------------

    def record(self, record: Record) -> None:
        """One JSON line, whoever reads it."""
        line = jsonl.text(record)
        self._write(self._stdout, _C1.sub(lambda found: f"\\u{ord(found[0]):04x}", line))

    def event(self, record: Record, *lines: str) -> None:
        """What happened: lines on a terminal, a JSON line in a pipe."""
        if not self.is_for_people:
            self.record(record)
        for line in lines if self.is_for_people else ():
            self.say(line)

    def table(self, columns: Sequence[Column], records: Iterable[Record], *, empty: str = "") -> int:
        """Records as a table, or one JSON line each, as they come. Returns how many there were."""
        if not self.is_for_people:
            count = 0
            for record in records:
                self.record(record)
                count += 1
            return count
        return self._draw_table(columns, list(records), empty)

    def facts(self, record: Record, labels: Mapping[str, str], sizes: frozenset[str] = frozenset()) -> None:
        """One record: a line per labelled field on a terminal, one JSON line in a pipe. ``sizes`` are in bytes."""
        if not self.is_for_people:
            self.record(record)
            return
        width = max(map(len, labels.values()))
        for name, label in labels.items():
            value = record.get(name)
            if value not in (None, "", [], {}):
                text = size(value) if name in sizes and isinstance(value, int) else plain(value)
                self.say(f"{label:<{width}}  {text}")

    # --- drawings: rich costs 17 ms, which a pipe need not pay ------------------------------------------------

    def _console(self) -> "Console":
        from rich.console import Console  # drawing costs 17 ms, and only a terminal needs it

        return Console(file=self._stdout, highlight=False, soft_wrap=False)

    def _draw_table(self, columns: Sequence[Column], records: list[Record], empty: str) -> int:
        if not records:
            if empty:
                self.say(empty)
            return 0
        cells = [[column.text(record) for column in columns] for record in records]
        if sum(_widths(columns, cells)) + GAP * len(columns) <= self._console().width:
            self._draw_grid(columns, cells)
        else:
            self._draw_blocks(columns, cells)
        return len(records)

    def _draw_grid(self, columns: Sequence[Column], cells: list[list[str]]) -> None:
        """A line each, with long texts in columns of their own."""
        from rich import box  # drawing costs 17 ms, and only a terminal needs it
        from rich.table import Table  # drawing costs 17 ms, and only a terminal needs it
        from rich.text import Text  # drawing costs 17 ms, and only a terminal needs it

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for column, width in zip(columns, _widths(columns, cells), strict=True):
            table.add_column(
                column.title,
                justify="right" if column.right else "left",
                no_wrap=not column.wraps,
                min_width=width,
                overflow="fold",
            )
        for row in cells:
            table.add_row(*map(Text, row))
        self._console().print(table)

    def _draw_blocks(self, columns: Sequence[Column], cells: list[list[str]]) -> None:
        """Where a terminal is too narrow for that: the short ones in a line, each long text below it."""
        from rich.padding import Padding  # drawing costs 17 ms, and only a terminal needs it
        from rich.text import Text  # drawing costs 17 ms, and only a terminal needs it

        console, widths = self._console(), _widths(columns, cells)
        console.print(Text(_short_line(columns, widths, [column.title for column in columns])))
        for row in cells:
            console.print(Text(_short_line(columns, widths, row)))
            for column, text in zip(columns, row, strict=True):
                if column.wraps and text:
                    console.print(Padding(Text(f"{column.title}: {text}"), (0, 0, 0, 4), expand=False))

    def tree(self, roots: Iterable[Node]) -> None:
        """Trees as drawn lines; in a pipe one JSON line a node, parents first, each with its ``depth``."""
        for root in roots:
            if self.is_for_people:
                self._console().print(_as_rich_tree(root))
            else:
                for depth, node in _walk(root, 0):
                    self.record({**node.record, "depth": depth})

    @contextmanager
    def live(self) -> Iterator[Callable[[Sequence[str]], None]]:
        """A block of lines that is drawn again in place: yields the function that changes them. Nothing in a pipe."""
        if not self.is_for_people:
            yield lambda _lines: None
            return
        from rich.live import Live  # drawing costs 17 ms, and only a terminal needs it
        from rich.text import Text  # drawing costs 17 ms, and only a terminal needs it

        with Live(console=self._console(), auto_refresh=False) as live:
            yield lambda lines: live.update(
                Text("\n".join(map(printable, lines)), no_wrap=True, overflow="ellipsis"), refresh=True
            )

    def ask(self, question: str) -> bool:
        """A yes from a person; False where none is there to be asked."""
        if not (self.is_for_people and sys.stdin.isatty()):
            return False
        self._write(self._stdout, f"{printable(question)} [y/N] ")
        _wait_for_line()
        return sys.stdin.readline().strip().lower() in ("y", "yes")


def _wait_for_line() -> None:
    """Sleep until stdin has a line. A signal just before a blocking read would be noticed after it only."""
    reader, writer = wakeup_pipe()
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        while sys.stdin not in select.select([sys.stdin, reader], [], [])[0]:
            os.read(reader, 512)
    finally:
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)


def _short_line(columns: Sequence[Column], widths: list[int], texts: list[str]) -> str:
    """The short ones among the texts of a row, below each other from line to line."""
    named = zip(columns, texts, widths, strict=True)
    short = (
        text.rjust(width) if column.right else text.ljust(width) for column, text, width in named if not column.wraps
    )
    return "  ".join(short).rstrip()


def _widths(columns: Sequence[Column], cells: list[list[str]]) -> list[int]:
    """Letters that each column needs: all of its longest text, or of its longest word where it may be wrapped."""
    return [_width(column, [row[place] for row in cells]) for place, column in enumerate(columns)]


def _width(column: Column, texts: list[str]) -> int:
    from rich.cells import cell_len  # drawing costs 17 ms, and only a terminal needs it

    longest = max(map(cell_len, (column.title, *texts)))
    if not column.wraps:
        return longest
    words = (cell_len(word) for text in texts for word in text.split())
    return max(min(LONGEST_WORD, max(words, default=0)), min(READABLE, longest))


def _as_rich_tree(node: Node) -> "Tree":
    from rich.text import Text  # drawing costs 17 ms, and only a terminal needs it
    from rich.tree import Tree  # drawing costs 17 ms, and only a terminal needs it

    drawn = Tree(Text(printable(node.text), style=node.mark))
    drawn.children.extend(_as_rich_tree(child) for child in node.children)
    return drawn


def _walk(node: Node, depth: int) -> Iterator[tuple[int, Node]]:
    yield depth, node
    for child in node.children:
        yield from _walk(child, depth + 1)
