"""What one look at a process tells, in the same words on every platform."""

from typing import NamedTuple


class Look(NamedTuple):
    """One look at one pid; ``start_ticks`` is in clock ticks since boot (portable: microseconds)."""

    start_ticks: int
    parent: int
    session: int
    zombie: bool
