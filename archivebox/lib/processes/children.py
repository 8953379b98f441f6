"""What a process that we started or adopted can be asked, and the register of those not yet reaped."""

import os
import select
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from archivebox.lib.processes.exits import ExitStatus
from archivebox.lib.processes.identity import ProcessIdentity


class Child(ABC):
    """A process we started or adopted; its status can be read many times and is reaped once."""

    process_id: str
    identity: ProcessIdentity

    @abstractmethod
    def peek(self) -> ExitStatus | None:
        """Its status, without reaping; None: it still runs (or its status is still on the way)."""

    @property
    def ended(self) -> bool:
        """Whether it has ended, although its status may still be on the way."""
        return self.peek() is not None

    def reap(self) -> None:
        """Let it go: call only after its row is committed. RuntimeError while it runs; twice does nothing."""
        if self.peek() is None:
            raise RuntimeError(f"pid {self.identity.pid} still runs")
        self._reap()
        _unreaped.pop(self.identity, None)

    @abstractmethod
    def _reap(self) -> None:
        """Let the kernel forget its status, and let go of what was kept for its end."""

    def open_pidfd(self) -> int | None:
        """A descriptor that becomes readable at its end; None: it has ended, or there are no pidfds."""
        return self.identity.open_pidfd()

    @abstractmethod
    def block(self, seconds: float | None) -> None:
        """Sleep until the status may have changed, or ``seconds`` are over (None: no limit)."""


_unreaped: dict[ProcessIdentity, Child] = {}


def keep(child: Child) -> None:
    """Hold on to ``child`` until it is reaped: a dropped Popen reaps the zombie behind our back."""
    _unreaped[child.identity] = child


def unreaped() -> dict[ProcessIdentity, Child]:
    """Every process this one has started or adopted, and not yet let go."""
    return dict(_unreaped)


_foreground: set[int] = set()
_starting = Lock()


@contextmanager
def foreground_child(start: "Callable[[], subprocess.Popen[bytes]]") -> "Iterator[subprocess.Popen[bytes]]":
    """A child that is waited for within this block: nobody else takes it for an orphan, or reaps it."""
    with _starting:
        popen = start()
        _foreground.add(popen.pid)
    try:
        with popen:
            yield popen
    finally:
        _foreground.discard(popen.pid)


def known_pids() -> set[int]:
    """Pids of the children that this process has started or adopted. Read them after those of all children."""
    with _starting:
        return {identity.pid for identity in unreaped()} | _foreground


def block_on(fds: list[int], seconds: float | None) -> None:
    """Sleep until one of ``fds`` is readable or at its end."""
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    poll.poll(None if seconds is None else max(0.0, seconds) * 1000)


def block_on_pidfd(identity: ProcessIdentity, seconds: float | None, also: tuple[int, ...] = ()) -> bool:
    """Sleep until the process ends; False: it has ended before and there was nothing to sleep for."""
    fd = identity.open_pidfd()
    if fd is None:
        return False
    try:
        block_on([fd, *also], seconds)
    finally:
        os.close(fd)
    return True
