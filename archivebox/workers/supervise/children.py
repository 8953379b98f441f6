"""Owns what an orchestrator knows of one of its children, how that ended, and when it is started again."""

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from archivebox.lib import processes
from archivebox.lib.processes import ExitStatus, ProcessIdentity

CRASH_DELAY = (0.0, 0.0, 0.5, 2.0, 5.0)
"""Seconds before one is started again, by how many died within a minute of their start."""
EARLY = 60.0

ServeCommands = Callable[[UUID, UUID, socket.socket], int]
"""Be the process that takes commands: its row's key, the orchestrator's, and the socket to that; the exit status."""


@dataclass(slots=True)
class WorkerHandle:
    """One worker, or the egress process, as its orchestrator knows it."""

    process_id: UUID
    identity: ProcessIdentity
    pulse: socket.socket
    started: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)


class Restarts:
    """The starts of one kind of process."""

    def __init__(self) -> None:
        self.at = 0.0
        self._early_deaths = 0

    @property
    def is_time(self) -> bool:
        return time.monotonic() >= self.at

    def not_before(self, moment: float) -> None:
        self.at = max(self.at, moment)

    def record_death(self, *, lived: float, exit_code: int | None) -> None:
        self._early_deaths = self._early_deaths + 1 if lived < EARLY and exit_code != 0 else 0
        self.at = time.monotonic() + CRASH_DELAY[min(self._early_deaths, len(CRASH_DELAY) - 1)]


class Children(dict[int, WorkerHandle]):
    """The children of one kind, by pid, and when one of them may be started again."""

    def __init__(self) -> None:
        super().__init__()
        self.restarts = Restarts()


def status_of(pid: int) -> ExitStatus | None:
    """How a child ended, which is reaped with this; None while it runs."""
    try:
        done, status, usage = os.wait4(pid, os.WNOHANG)
    except ChildProcessError:
        return processes.UNSEEN
    if done == 0:
        return None
    return ExitStatus.of_wait(status, usage)
