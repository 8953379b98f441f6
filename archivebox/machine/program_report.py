"""What a hook's record says of a program that it ran."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self
from uuid import UUID

from archivebox.contract.records import EndReason
from archivebox.lib.jsonl import JSON
from archivebox.lib.processes import ProcessIdentity


@dataclass(frozen=True, slots=True)
class ProgramReport:
    """A Process record, as far as it makes sense; None (``pwd``: empty) for what it does not say."""

    key: UUID | None
    cmd: list[str] | None
    pwd: str
    pid: int | None
    start_ticks: int | None
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    was_ended: bool
    """Whether its hook ended it, who needed it no longer."""

    @classmethod
    def read(cls, record: Mapping[str, JSON]) -> Self:
        """Take ``{id, cmd, pwd, pid, start_ticks, exit_code, started_at, ended_at, end_reason}``; all is optional.

        The only reason that a hook may give is ``sealed``: it ended the program because it needed it no longer.
        """
        cmd = record.get("cmd")
        return cls(
            key=_uuid_or_none(record.get("id")),
            cmd=[str(word) for word in cmd] if isinstance(cmd, list) else None,
            pwd=str(record.get("pwd") or "")[:512],
            pid=_positive_or_none(record.get("pid")),
            start_ticks=_positive_or_none(record.get("start_ticks"), 2**63 - 1),
            started_at=parse_time(record.get("started_at")),
            ended_at=parse_time(record.get("ended_at")),
            exit_code=_int_or_none(record.get("exit_code")),
            was_ended=record.get("end_reason") == EndReason.SEALED,
        )


def start_of_descendant(pid: int, hook: ProcessIdentity | None) -> int | None:
    """When the live process with this pid started, if it can be the hook's: of its namespace, and not older than it."""
    identity = ProcessIdentity.of(pid)
    if identity is None or hook is None or identity[:2] != hook[:2] or identity.start_ticks < hook.start_ticks:
        return None
    return identity.start_ticks


def parse_time(value: JSON) -> datetime | None:
    """An ISO 8601 time or seconds since the epoch, as hooks write them; None for anything else."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, tz=UTC)
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def _uuid_or_none(value: JSON) -> UUID | None:
    try:
        return UUID(str(value)) if value else None
    except ValueError:
        return None


def _positive_or_none(value: JSON, most: int = 2**31 - 1) -> int | None:
    number = _int_or_none(value, most)
    return number if number is not None and number > 0 else None


def _int_or_none(value: JSON, most: int = 2**31 - 1) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= most else None
