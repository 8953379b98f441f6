"""Children where ``waitid`` cannot peek without reaping: wait4 reaps, and the status is kept until ``reap()``."""

import os
import subprocess
import time

from archivebox.lib.processes.children import Child
from archivebox.lib.processes.exits import UNSEEN, ExitStatus
from archivebox.lib.processes.identity import ProcessIdentity

POLL_SECONDS = 0.02
"""How often a blocking wait polls: without pidfds there is nothing to sleep on that takes a time limit."""


class PortableChild(Child):
    """A direct child; if this process dies between its exit and ``reap()``, its status dies with us."""

    def __init__(self, process_id: str, identity: ProcessIdentity, popen: "subprocess.Popen[bytes]") -> None:
        self.process_id = process_id
        self.identity = identity
        self._popen = popen
        self._status: ExitStatus | None = None

    def peek(self) -> ExitStatus | None:
        if self._status is None:
            try:
                pid, status, usage = os.wait4(self.identity.pid, os.WNOHANG)
            except ChildProcessError:  # reaped by somebody else in this process
                self._status = UNSEEN
                return self._status
            if pid:
                self._status = ExitStatus.of_wait(status, usage)
                self._popen.returncode = self._status.exit_code
        return self._status

    def _reap(self) -> None:
        """The look at its status has reaped it."""

    def block(self, seconds: float | None) -> None:
        time.sleep(POLL_SECONDS if seconds is None else max(0.0, min(POLL_SECONDS, seconds)))
