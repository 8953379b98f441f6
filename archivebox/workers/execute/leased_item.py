"""Owns what a worker asks of everything that it has in its hands."""

import asyncio
from abc import ABC, abstractmethod
from typing import ClassVar

from archivebox.base_models.work import LEASE
from archivebox.lib.system_calls import seconds_since_boot
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.hooks.process import HookProcess
from archivebox.workers.queue.lease import Lease

SURE_FOR = 0.9 * LEASE.total_seconds()
"""Seconds after the last renewal of a lease in which nobody else can have the item; the rest is for ending hooks."""


class LeasedItem(ABC):
    """One leased object that this worker works on. ``over`` is done once it is released or its lease is lost."""

    is_of_machine: ClassVar[bool] = False
    """Whether no other machine works on it."""

    def __init__(self, engine: Engine, lease: Lease) -> None:
        self.engine = engine
        self.lease = lease
        self.over: asyncio.Future[None] = engine.loop.create_future()
        self.ending = False
        """From here on nothing of it is started."""
        self.renewed_at = seconds_since_boot()
        """When its lease was last claimed or renewed, by the clock of :func:`seconds_since_boot`."""

    def begin_ending(self) -> None:
        """From here on start nothing of it."""
        self.ending = True

    @property
    def may_be_lost(self) -> bool:
        """Whether another machine may have it, or will in a moment, because its lease could not be renewed in time.

        The database need not be asked, which may be out of reach: nothing more is started or written then.
        """
        if self.is_of_machine or not self.engine.has_other_machines:
            return False
        return seconds_since_boot() > self.renewed_at + SURE_FOR

    def finish(self) -> None:
        """Nothing more is done with it here."""
        if not self.over.done():
            self.over.set_result(None)

    def advance(self) -> None:  # noqa: B027 - most go on by themselves
        """Do what can be done now; never waits."""

    def on_polled(self) -> None:
        """The worker has looked at its database."""
        self.advance()

    def hooks(self) -> list[HookProcess]:
        """Processes of its hooks, ended ones included."""
        return []

    @abstractmethod
    async def handle_request(self, event: str) -> None:
        """Do what somebody asked of its holder (``pause``, ``cancel``, ``release``), and end its lease."""

    async def requeue(self) -> None:
        """The worker stops: back to the queue with it, once its trees have ended."""
        await self.handle_request("release")

    @abstractmethod
    async def abandon(self) -> None:
        """The lease is lost: end its trees, and write nothing but what happened to processes."""
