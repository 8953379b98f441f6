"""Slots that hooks take while they run: so many at a time, and as many again for what takes long."""

import os
from collections import deque
from collections.abc import Callable
from typing import Protocol

LATE_AFTER = float(os.environ.get("ARCHIVEBOX_LATE_SECONDS") or 10)
"""Seconds after which whoever has a place is late: it goes on beside the others, and the next one has its place.

The variable lets tests see it without waiting for it.
"""

Tell = Callable[[], None]


class Slot(Protocol):
    """What is taken, until it is given back; to give back twice does nothing."""

    def release(self) -> None: ...

    def become_late(self) -> bool:
        """Make room for the next one, if there is room among the late ones; True if nothing is left to be done."""
        ...


class SlotPool(Protocol):
    """Where places are taken. Who gets none may ask to be told once there may be one."""

    @property
    def is_full(self) -> bool:
        """Whether there is surely none to be had now."""
        ...

    def acquire(self) -> Slot | None: ...

    def acquire_over_limit(self) -> Slot | None:
        """For an adopted hook, which runs already."""
        ...

    def notify_when_free(self, tell: Tell) -> None: ...


class HookSlots:
    """So many hooks of this worker at a time; who waits is told in turn, and nobody whom no place is left for."""

    def __init__(self, limit: int) -> None:
        self.limit = max(1, limit)
        self.taken = 0
        self.late = 0
        self._waiting: deque[Tell] = deque()

    @property
    def is_full(self) -> bool:
        return self.taken >= self.limit

    def acquire(self) -> "HookSlot | None":
        return None if self.is_full else self.acquire_over_limit()

    def acquire_over_limit(self) -> "HookSlot":
        """For an adopted hook: it counts, even above the limit."""
        self.taken += 1
        return HookSlot(self)

    def is_free(self) -> None:
        """One was given back, or is late."""
        self.taken -= 1
        for _ in range(len(self._waiting)):  # who is told may find that it has to wait again
            if self.is_full or not self._waiting:  # and may itself have given one back
                return
            self._waiting.popleft()()

    def notify_when_free(self, tell: Tell) -> None:
        if tell not in self._waiting:
            self._waiting.append(tell)


class HookSlot:
    """One slot of HookSlots."""

    __slots__ = ("_held", "_late", "_slots")

    def __init__(self, slots: HookSlots) -> None:
        self._slots, self._held, self._late = slots, True, False

    def release(self) -> None:
        if not self._held:
            return
        self._held = False
        if self._late:
            self._slots.late -= 1
        else:
            self._slots.is_free()

    def become_late(self) -> bool:
        if self._held and not self._late:
            if self._slots.late >= self._slots.limit:
                return False
            self._late = True
            self._slots.late += 1
            self._slots.is_free()
        return True
