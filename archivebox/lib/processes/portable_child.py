"""Children where ``waitid`` cannot peek without reaping: wait4 reaps, and the status is kept until ``reap()``."""

import errno
import os
import subprocess
import time
from pathlib import Path

from archivebox.lib.processes.children import Child
from archivebox.lib.processes.exits import UNSEEN, ExitStatus
from archivebox.lib.processes.identity import ProcessIdentity
from archivebox.lib.processes.launch import Launch

POLL_SECONDS = 0.02
"""How often a blocking wait polls: without pidfds there is nothing to sleep on that takes a time limit."""

_ULIMIT_BLOCK = 512
"""Bytes per unit of ``ulimit -f`` (POSIX)."""


def limited_argv(launch: Launch) -> tuple[str, ...]:
    """``argv`` behind a shell that sets the file size limit, as there is no prlimit(2) to do it from outside."""
    if launch.file_size_limit is None:
        return launch.argv
    _refuse_missing(Path(launch.argv[0]))
    blocks = max(1, launch.file_size_limit // _ULIMIT_BLOCK)
    return ("/bin/sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh", *launch.argv)


def _refuse_missing(program: Path) -> None:
    """Raise what execve(2) would: behind a shell a missing program, or interpreter of a script, is only exit 127."""
    if not program.is_absolute():
        return
    if not os.access(program, os.X_OK):
        number = errno.EACCES if program.exists() else errno.ENOENT
        raise OSError(number, os.strerror(number), str(program))
    with program.open("rb") as script:
        first = script.readline(256)
    if first.startswith(b"#!") and first[2:].strip():
        interpreter = Path(os.fsdecode(first[2:].split()[0]))
        if not interpreter.exists():
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(interpreter))


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
