"""The listener: one per orchestrator where machines share a database; it wakes the workers when another has work.

It waits on one connection (LISTEN). While the database is away it tries to connect again, and wakes them once it could:
what was notified meanwhile is lost. Nothing depends on it: who hears nothing polls every thirty seconds.
"""

import logging
import os
import selectors
import signal
import socket
import time
from contextlib import suppress
from functools import partial
from uuid import UUID

from django.db import connection

from archivebox.base_models.transient import OF_DATABASE, TRY_EVERY, transient_problem
from archivebox.base_models.wakeups import CHANNEL, sender_id, wake_local_workers
from archivebox.base_models.work import RENEW_EVERY
from archivebox.lib.system_calls import wakeup_pipe
from archivebox.machine.process import Process
from archivebox.workers.signals import WorkerSignal, say_alive

log = logging.getLogger(__name__)

LINK = {"connect_timeout": "10", "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3"}
"""Parameters of libpq by which a lost connection is noticed on which nothing is sent. Those of DATABASE_URL prevail."""


class FleetListener:
    """Listens until told to stop, or until the orchestrator has gone."""

    def __init__(self, pulse: socket.socket) -> None:
        self.is_stopping = False
        self._pulse = pulse
        self._us = sender_id()
        self._beat_at = 0.0
        self._problem = ""
        self._selector = selectors.DefaultSelector()
        self._wake_r, wake_w = wakeup_pipe()
        signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, self._stop)
        for ready in (self._wake_r, pulse):
            self._selector.register(ready, selectors.EVENT_READ)

    def run(self) -> None:
        while not self.is_stopping:
            try:
                self._listen()
            except OF_DATABASE as error:
                self._wait_after(error)

    def _listen(self) -> None:
        """Wake the workers once for what was missed, then whenever another data folder has notified."""
        with connection.cursor() as cursor:
            cursor.execute(f"LISTEN {CHANNEL}")
        wake_local_workers()
        self._problem = ""
        descriptor: int = connection.connection.fileno()
        self._selector.register(descriptor, selectors.EVENT_READ)
        try:
            while not self.is_stopping:
                self._sleep(RENEW_EVERY)
                if self._senders() - {self._us}:
                    wake_local_workers()
        finally:
            self._selector.unregister(descriptor)

    def _senders(self) -> set[str]:
        """Who has notified since the last call."""
        with connection.wrap_database_errors:
            return {notification.payload for notification in connection.connection.notifies(timeout=0)}

    def _wait_after(self, error: Exception) -> None:
        problem = transient_problem(error)
        if not problem:
            raise error
        if problem != self._problem:
            log.warning("%s Work of other machines is noticed later action=listener_waits", problem)
        self._problem = problem
        connection.close()
        self._sleep(TRY_EVERY)

    def _sleep(self, seconds: float) -> None:
        """Until something comes in, at the longest so long; and give a sign of life."""
        ready = {key.fileobj for key, _ in self._selector.select(seconds)}
        with suppress(BlockingIOError):
            os.read(self._wake_r, 512)
        if self._pulse in ready and self._orchestrator_has_gone():
            self.is_stopping = True
        if time.monotonic() >= self._beat_at:
            self._beat_at = time.monotonic() + RENEW_EVERY
            with suppress(BlockingIOError, BrokenPipeError):
                self._pulse.send(WorkerSignal.HEARTBEAT)

    def _orchestrator_has_gone(self) -> bool:
        try:
            return not self._pulse.recv(512)
        except ConnectionResetError:
            return True

    def _stop(self, *_: object) -> None:
        self.is_stopping = True


def main(process_id: UUID, orchestrator_id: UUID, *, pulse: socket.socket) -> int:
    """Be the listener until told to stop, or until the orchestrator has gone; returns the exit status."""
    connection.settings_dict["OPTIONS"] = {**LINK, **connection.settings_dict["OPTIONS"]}
    return Process.run_service(
        process_id,
        orchestrator_id,
        "listener",
        lambda: FleetListener(pulse).run(),
        while_away=partial(say_alive, pulse.fileno()),
    )
