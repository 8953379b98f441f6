"""Cold starts: one program by ``subprocess.Popen``, in its own session, with files for its output."""

import contextlib
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import NoReturn

from archivebox.lib.processes.children import Child, block_on_pidfd, keep
from archivebox.lib.processes.exits import UNSEEN, ExitStatus
from archivebox.lib.processes.identity import ProcessIdentity
from archivebox.lib.processes.launch import Launch, limited_argv
from archivebox.lib.processes.linux import P_PID, waitid
from archivebox.lib.processes.platform import PORTABLE
from archivebox.lib.processes.portable_child import PortableChild

log = logging.getLogger(__name__)

_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


def open_output(path: str | os.PathLike[str]) -> int:
    """A file for a stream of a process: appended to, so that two writers never overwrite each other."""
    return os.open(path, _APPEND, 0o644)


def spawn(launch: Launch) -> Child:
    """Start ``launch`` cold; raises OSError when its program, folder or output files cannot be opened.

    0.66 ms for a session, a folder, an environment and two files (posix_spawn: 0.56). Never ``preexec_fn``: it makes
    Popen fork, 2 to 15 times dearer. The Popen is kept until the child is reaped.
    """
    out = open_output(launch.stdout)
    try:
        err = open_output(launch.stderr)
        try:
            popen = _start(launch, out, err)
        finally:
            os.close(err)
    finally:
        os.close(out)
    return _known(launch, popen)


def _start(launch: Launch, out: int, err: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        limited_argv(launch),
        cwd=launch.cwd,
        env=launch.marked_environment(),
        stdin=_null(),
        stdout=out,
        stderr=err,
        start_new_session=True,
        pass_fds=launch.pass_fds,
    )


@cache
def _null() -> int:
    """``/dev/null``, opened once: Popen's own way takes six steps more, for every hook."""
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)


def _known(launch: Launch, popen: "subprocess.Popen[bytes]") -> Child:
    identity = ProcessIdentity.of(popen.pid)
    if identity is None:  # an unreaped child has its entry in /proc, dead or alive
        raise ProcessLookupError(f"pid {popen.pid} was reaped by somebody else in this process")
    if PORTABLE:
        child: Child = PortableChild(launch.process_id, identity, popen)
    else:
        child = OwnChild(launch.process_id, identity, popen)
    keep(child)
    return child


def fork(launch: Launch, body: Callable[[], int]) -> Child:
    """Go on with ``body`` in a child of this process, which must have one thread; its return value is the exit status.

    The child has a session, folder, environment and output of its own, as ``launch`` says; ``argv`` is not read.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _be_the_child(launch, body)
    identity = ProcessIdentity.of(pid)
    if identity is None:
        raise ProcessLookupError(f"pid {pid} was reaped by somebody else in this process")
    child = OwnChild(launch.process_id, identity, None)
    keep(child)
    return child


def _be_the_child(launch: Launch, body: Callable[[], int]) -> NoReturn:
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(signum, signal.SIG_DFL)
        os.setsid()
        os.chdir(launch.cwd)
        os.environ.clear()
        os.environ.update(launch.marked_environment())
        streams = (os.open(os.devnull, os.O_RDONLY), open_output(launch.stdout), open_output(launch.stderr))
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        code = body()
    except Exception:  # the last frame of this process: there is nobody to raise to
        log.exception("A forked process broke")
    finally:
        sys.stderr.flush()
        os._exit(code)


class OwnChild(Child):
    """A direct child of this process, started cold or forked."""

    def __init__(self, process_id: str, identity: ProcessIdentity, popen: "subprocess.Popen[bytes] | None") -> None:
        self.process_id = process_id
        self.identity = identity
        self._popen = popen
        self._status: ExitStatus | None = None

    def peek(self) -> ExitStatus | None:
        if self._status is None:
            try:
                waited = waitid(P_PID, self.identity.pid, reap=False)
            except ChildProcessError:  # reaped by somebody else in this process
                self._status = UNSEEN
            else:
                self._status = None if waited is None else ExitStatus(*waited)
        return self._status

    def open_pidfd(self) -> int:
        return os.pidfd_open(self.identity.pid)  # nobody else gets the pid of a child that is not reaped

    def _reap(self) -> None:
        if self._popen is not None:
            self._popen.wait()
        else:
            self._reap_forked()

    def _reap_forked(self) -> None:
        with contextlib.suppress(ChildProcessError):  # a second call
            waitid(P_PID, self.identity.pid, reap=True)

    def block(self, seconds: float | None) -> None:
        block_on_pidfd(self.identity, seconds)
