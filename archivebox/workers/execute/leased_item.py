"""Owns what a worker asks of everything that it has in its hands."""

import asyncio
from abc import ABC, abstractmethod

from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.hooks.process import HookProcess
from archivebox.workers.queue.lease import Lease


class LeasedItem(ABC):
    """One leased object that this worker works on. ``over`` is done once it is released or its lease is lost."""

    def __init__(self, engine: Engine, lease: Lease) -> None:
        self.engine = engine
        self.lease = lease
        self.over: asyncio.Future[None] = engine.loop.create_future()
        self.ending = False
        """From here on nothing of it is started."""

    def finish(self) -> None:
        """Nothing more is done with it here."""
        if not self.over.done():
            self.over.set_result(None)

    def advance(self) -> None:  # noqa: B027 - most go on by themselves
        """Do what can be done now; never waits."""

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
