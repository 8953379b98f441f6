"""Owns what an orchestrator knows of one of its children, and how that ended."""

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from archivebox.lib import processes
from archivebox.lib.processes import ExitStatus, ProcessIdentity
from archivebox.workers.supervise.restarts import Restarts

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
