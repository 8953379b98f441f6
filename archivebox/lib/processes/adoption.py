"""Processes that others started: hooks of a dead worker, which live on under the orchestrator."""

import os
import time
from pathlib import Path

from archivebox.lib.processes.children import Child, block_on_pidfd, keep
from archivebox.lib.processes.exits import UNSEEN, ExitStatus, read_exit_record
from archivebox.lib.processes.identity import ProcessIdentity
from archivebox.lib.processes.linux import P_PIDFD, exit_code_of, waitid
from archivebox.lib.processes.platform import PORTABLE

REAPER_SECONDS = 30.0
"""How long to wait for the exit record of a zombie: its parent writes it, then reaps. A parent of ours may be stopped,
starved by others, or have no room on the disk; a foreign one, which writes none, reaps at once."""

RECORD_SECONDS = 1.0
"""How long to wait for the exit record of a process that has been reaped: then it is there, or never comes."""

POLL_SECONDS = 0.01
"""How often the record is polled for meanwhile; on the portable path, how often the process is."""


def adopt(process_id: str, identity: ProcessIdentity, exit_record: Path) -> "AdoptedChild | None":
    """Go on with a process that somebody else started; None: it is gone, and left no exit record."""
    child = AdoptedChild(process_id, identity, exit_record)
    if not child.holds_something():
        return None
    keep(child)
    return child


class AdoptedChild(Child):
    """A process whose parent is another of ours; the parent journals its exit, then reaps it.

    Its status comes from the journal; if that stays silent, from the kernel (Linux >= 6.15, by the pidfd that was open
    all the while, without resource usage); else nobody saw it.
    """

    def __init__(self, process_id: str, identity: ProcessIdentity, exit_record: Path) -> None:
        self.process_id = process_id
        self.identity = identity
        self.exit_record = exit_record
        self._pidfd = identity.open_pidfd()
        self._status: ExitStatus | None = None
        self._ended_at: float | None = None

    def holds_something(self) -> bool:
        """Whether there is a process or a record to wait for."""
        return self._pidfd is not None or self._recorded() is not None or (PORTABLE and self.identity.is_alive())

    def peek(self) -> ExitStatus | None:
        if self._status is None:
            self._status = self._recorded() or self._ours()
        if self._status is None and self._has_ended():
            now = time.monotonic()
            if self._ended_at is None:
                self._ended_at = now
            if now - self._ended_at >= (REAPER_SECONDS if self._awaits_reaper() else RECORD_SECONDS):
                self._status = self._recorded() or self._known_to_kernel()
        return self._status

    @property
    def ended(self) -> bool:
        """Whether it has ended, although its record may still be on the way."""
        return self._status is not None or self._ended_at is not None or self._has_ended()

    def _reap(self) -> None:
        """Forget the exit record and the descriptor, and the zombie should it be ours."""
        self.exit_record.unlink(missing_ok=True)
        if self._pidfd is not None:
            self._wait_on(self._pidfd, reap=True)
            os.close(self._pidfd)
            self._pidfd = None

    def block(self, seconds: float | None) -> None:
        if self.ended or not block_on_pidfd(self.identity, seconds):
            time.sleep(POLL_SECONDS if seconds is None else max(0.0, min(POLL_SECONDS, seconds)))

    def _recorded(self) -> ExitStatus | None:
        record = read_exit_record(self.exit_record)
        return record[1] if record is not None and record[0] == self.identity else None

    def _ours(self) -> ExitStatus | None:
        """Its status if it was reparented to this very process."""
        return None if self._pidfd is None else self._wait_on(self._pidfd, reap=False)

    def _known_to_kernel(self) -> ExitStatus:
        code = None if self._pidfd is None else exit_code_of(self._pidfd)
        return UNSEEN if code is None else ExitStatus(code)

    def _has_ended(self) -> bool:
        return not self.identity.is_alive() or self.identity.is_zombie()

    def _awaits_reaper(self) -> bool:
        """Whether its parent has not read its status yet; on the portable path no parent reads it for us."""
        return not PORTABLE and self.identity.is_zombie()

    @staticmethod
    def _wait_on(pidfd: int, *, reap: bool) -> ExitStatus | None:
        try:
            waited = waitid(P_PIDFD, pidfd, reap=reap)
        except ChildProcessError:  # the child of another of our processes
            return None
        return None if waited is None else ExitStatus(*waited)
