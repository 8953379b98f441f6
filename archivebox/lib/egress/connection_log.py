"""Owns what is written down of a crawl's connections: where each led, and how much came and went."""

import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from archivebox.lib import jsonl
from archivebox.lib.egress.proxy_requests import Endpoint, NotConnected
from archivebox.lib.files import atomic_write

CONNECTIONS, FORMER, TOTALS = "connections.jsonl", "connections.1.jsonl", "totals.json"
"""Files in the folder ``egress`` of a crawl."""
LOG_MAX = 64 * 1024 * 1024
"""Bytes of the log after which it is put aside as ``connections.1.jsonl``, and begun anew."""
TAIL = 64 * 1024
"""Bytes at the end of a log in which its last number stands."""


@dataclass(slots=True)
class Totals:
    """What a crawl's connections came to, on all its runs."""

    connections: int = 0
    refused: int = 0
    failed: int = 0
    received: int = 0
    """Bytes, as they came over the wire."""
    sent: int = 0


def read_totals(folder: Path) -> Totals:
    """What was written down in the ``egress`` folder of a crawl; nothing if there is none."""
    try:
        found = json.loads((folder / TOTALS).read_bytes())
    except (OSError, ValueError):
        return Totals()
    known = {field.name for field in fields(Totals)}
    return Totals(**{name: value for name, value in found.items() if name in known and isinstance(value, int)})


def sum_totals(folders: Iterable[Path]) -> Totals:
    """What was written down in several such folders."""
    every = [astuple(read_totals(folder)) for folder in folders]
    return Totals(*map(sum, zip(*every, strict=True)))


def _make_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)


class ConnectionLog:
    """The log and the totals of one crawl. The log has each line before the first byte of its connection.

    Where it cannot be written, nothing is connected; what has been is not broken off for want of its last line.
    """

    def __init__(self, folder: Path, make: Callable[[Path], object] = _make_folder) -> None:
        self.folder = folder
        self._make = make
        self.totals = read_totals(folder)
        self._saved = asdict(self.totals)
        self._last = max(self.totals.connections, _last_number(folder / CONNECTIONS))
        self._log: IO[bytes] | None = None

    def connected(self, place: Endpoint, address: str) -> int:
        """A connection stands; returns its number."""
        self.totals.connections += 1
        self._last += 1
        self._write("connected", place, connection=self._last, address=address)
        return self._last

    def closed(self, number: int, place: Endpoint, sent: int, received: int) -> None:
        with suppress(OSError):
            self._write("closed", place, connection=number, sent=sent, received=received)

    def not_connected(self, place: Endpoint, problem: NotConnected) -> None:
        event = "refused" if problem.why.is_refusal else "failed"
        setattr(self.totals, event, getattr(self.totals, event) + 1)
        with suppress(OSError):
            self._write(event, place, reason=problem.why.word, message=problem.sentence)

    def save(self) -> None:
        """Write the totals if they have changed; where the disk is full, the next call does."""
        now = asdict(self.totals)
        if now == self._saved:
            return
        with suppress(OSError):
            self._make(self.folder)
            atomic_write(self.folder / TOTALS, json.dumps(now))
            self._saved = now

    def close(self) -> None:
        self.save()
        if self._log is not None:
            self._log.close()
            self._log = None

    def _write(self, event: str, place: Endpoint, **facts: object) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        log = self._open()
        line = jsonl.dumps({"time": now, "event": event, "host": place.host, "port": place.port, **facts})
        is_whole = log.write(line) == len(line)  # else the disk is full: what comes next begins a line of its own
        is_full = log.tell() > LOG_MAX
        if is_full or not is_whole:
            log.close()
            self._log = None
        if is_full:
            (self.folder / CONNECTIONS).replace(self.folder / FORMER)

    def _open(self) -> IO[bytes]:
        if self._log is None:
            self._make(self.folder)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            log = os.fdopen(os.open(self.folder / CONNECTIONS, flags, 0o600), "ab+", buffering=0)
            try:
                end_line(log)
            except OSError:
                log.close()
                raise
            self._log = log
        return self._log


def end_line(log: IO[bytes]) -> None:
    """End the last line of a log that is open for reading and appending, if it is torn."""
    if log.seek(0, os.SEEK_END):
        log.seek(-1, os.SEEK_END)
        if log.read(1) != b"\n":
            log.write(b"\n")


def _last_number(log: Path) -> int:
    """The highest number among the last lines: totals may be a second behind those of a proxy that was killed."""
    try:
        with log.open("rb") as file:
            file.seek(-min(TAIL, file.seek(0, os.SEEK_END)), os.SEEK_END)
            lines = list(jsonl.iter_lines(file.read().splitlines()))
    except FileNotFoundError:
        return 0
    return max((number for line in lines if isinstance(number := line.get("connection"), int)), default=0)
