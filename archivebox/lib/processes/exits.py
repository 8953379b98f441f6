"""How a process ended, and the journal in which the orchestrator keeps that for whoever adopts the process."""

import errno
import json
import os
import resource
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from archivebox.lib.files import atomic_write
from archivebox.lib.processes.identity import ProcessIdentity

_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in which ru_maxrss counts (getrusage(2))."""


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """End of a process as the kernel reported it.

    ``exit_code`` follows Popen (-N for signal N); None: nobody saw it. ``max_rss`` is in bytes, and never less than
    its spawner's was at that moment: execve(2) carries the high-water mark over.
    """

    exit_code: int | None
    user_seconds: float = 0.0
    system_seconds: float = 0.0
    max_rss: int = 0

    @classmethod
    def of_wait(cls, status: int, usage: resource.struct_rusage) -> Self:
        """What wait4(2) says."""
        code = os.waitstatus_to_exitcode(status)
        return cls(code, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * _MAXRSS_UNIT)


NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
"""Errors of a disk that takes nothing for now."""
UNSEEN = ExitStatus(None)
"""The status of a process whose end nobody saw."""


def write_exit_record(path: Path, identity: ProcessIdentity, status: ExitStatus) -> None:
    """Write one exit record; by rename, so that a reader sees all of it or nothing. Not fsynced: a boot voids it."""
    body = {"identity": list(identity), "status": _fields(status)}
    atomic_write(path, json.dumps(body))


def read_exit_record(path: Path) -> tuple[ProcessIdentity, ExitStatus] | None:
    """The record in ``path``; None: not there, or not a record."""
    try:
        body = json.loads(path.read_bytes())
        return ProcessIdentity(*body["identity"]), ExitStatus(**body["status"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):  # not ours: whatever wrote it, it tells nothing
        return None


def _fields(status: ExitStatus) -> dict[str, int | float | None]:
    return {
        "exit_code": status.exit_code,
        "user_seconds": status.user_seconds,
        "system_seconds": status.system_seconds,
        "max_rss": status.max_rss,
    }


class ExitJournal:
    """Exit records by identity, ``<folder>/<pid>-<ticks>.json``: written before the zombie is reaped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, identity: ProcessIdentity) -> Path:
        return self.folder / f"{identity.pid}-{identity.start_ticks}.json"

    def write(self, identity: ProcessIdentity, status: ExitStatus) -> None:
        write_exit_record(self.path(identity), identity, status)

    def read(self, identity: ProcessIdentity) -> ExitStatus | None:
        """The status on record for exactly this process (another boot's record of the same name does not count)."""
        record = read_exit_record(self.path(identity))
        return record[1] if record is not None and record[0] == identity else None

    def forget(self, identity: ProcessIdentity) -> None:
        """Delete the record, after what it says was committed."""
        self.path(identity).unlink(missing_ok=True)

    def all(self) -> dict[ProcessIdentity, ExitStatus]:
        """Every record there is; half-written drafts are not records."""
        records = (read_exit_record(path) for path in self.folder.glob("*.json"))
        return dict(record for record in records if record is not None)
