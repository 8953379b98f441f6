"""The one-byte messages between an orchestrator and its children, over their socket pairs."""

import os
from enum import Enum


class WorkerSignal(bytes, Enum):
    """What a worker, or the egress process, tells its orchestrator."""

    HEARTBEAT = b"."
    MORE_WORK = b"+"
    """It has more than one page."""
    OVERLOADED = b"!"
    """It has more pages than it keeps up with."""


class OrchestratorSignal(bytes, Enum):
    """What an orchestrator tells its workers."""

    SIBLING_DIED = b"d"
    SIBLING_ADDED = b"s"
    """One more worker divides the machine's capacity with them."""


def say_alive(pulse: int) -> None:
    """Send a heartbeat while the database is waited for, at a start; BrokenPipeError if the orchestrator is gone."""
    os.write(pulse, WorkerSignal.HEARTBEAT)
