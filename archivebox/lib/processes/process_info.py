"""What the system tells of a process, in the same words on every platform."""

from typing import NamedTuple


class ProcessInfo(NamedTuple):
    """What one pid was at one moment; ``start_ticks`` is in clock ticks since boot (portable: microseconds)."""

    start_ticks: int
    parent: int
    session: int
    zombie: bool
