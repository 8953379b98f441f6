"""The spawn log: what a worker is about to start, written before it can have an effect."""

import errno
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from archivebox.lib.jsonl import JSON
from archivebox.lib.processes.identity import ProcessIdentity

_encode = json.JSONEncoder(separators=(",", ":")).encode


class SpawnEntry(NamedTuple):
    """One start: the columns of its row (empty when only its start was left in the log), and who it became."""

    process_id: str
    row: Mapping[str, JSON]
    identity: ProcessIdentity | None


class SpawnLog:
    """Log of one worker; one writer, plus each forked child for its own ``started`` line.

    Lives in the page cache: it survives kill -9 of everybody, not a power cut, after which nothing it names is alive.
    A line is one write() at the end of the file and begins with its line feed, so that a torn one spoils no other.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = open_spawn_log(path)

    def intent(self, process_id: str, row: Mapping[str, JSON]) -> None:
        """Say that ``process_id`` is about to be started, with all columns of its row."""
        self._write({"intent": process_id, "row": row})

    def started(self, process_id: str, identity: ProcessIdentity) -> None:
        """Say who it became, if there is room; otherwise its mark tells."""
        with suppress(OSError):
            self._write({"started": process_id, "identity": list(identity)})

    def truncate(self) -> None:
        """Empty the log: every row it holds is committed."""
        os.ftruncate(self._fd, 0)

    def close(self) -> None:
        os.close(self._fd)

    def _write(self, line: Mapping[str, object]) -> None:
        data = b"\n" + _encode(line).encode()
        if os.write(self._fd, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))

    @staticmethod
    def read(path: Path) -> list[SpawnEntry]:
        """The starts on record, in order; a line torn by a crash is passed over. No file: no entries."""
        try:
            lines = path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        rows: dict[str, Mapping[str, JSON]] = {}
        identities: dict[str, ProcessIdentity] = {}
        for line in filter(None, map(_parse, lines)):
            process_id = line.get("intent") or line.get("started")
            if not isinstance(process_id, str):
                continue
            row, identity = line.get("row"), line.get("identity")
            rows.setdefault(process_id, {})
            if isinstance(row, dict):
                rows[process_id] = row
            elif isinstance(identity, list) and len(identity) == 4:
                identities[process_id] = _identity(identity)
        return [SpawnEntry(process_id, row, identities.get(process_id)) for process_id, row in rows.items()]


def open_spawn_log(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def started_template(process_id: str, like: ProcessIdentity) -> str:
    """The ``started`` line of a child still to be forked here, to be filled with ``% (pid, start_ticks)``."""
    line = json.dumps({"started": process_id, "identity": [like.boot_id, like.pid_ns, "PID", "TICKS"]})
    return "\n" + line.replace("%", "%%").replace('"PID"', "%d").replace('"TICKS"', "%d")


def _identity(values: list[JSON]) -> ProcessIdentity:
    boot, namespace, pid, ticks = values
    return ProcessIdentity(str(boot), int(str(namespace)), int(str(pid)), int(str(ticks)))


def _parse(line: bytes) -> dict[str, JSON] | None:
    if not line.startswith(b"{"):
        return None
    try:
        parsed = json.loads(line)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None
