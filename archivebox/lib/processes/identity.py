"""The exact identity of a process: which one it is, whether it lives, and signals that can reach no other."""

import errno
import os
import signal
from functools import cache
from typing import NamedTuple

import psutil

from archivebox.lib.processes.platform import PORTABLE

if PORTABLE:
    from archivebox.lib.processes.portable import boot_id, inspect, is_exiting, pid_namespace, running_for
else:
    from archivebox.lib.processes.procfs import boot_id, inspect, is_exiting, pid_namespace, running_for

PIDFD_SIGNAL_PROCESS_GROUP = 4
"""Flag of pidfd_send_signal(2), Linux 6.9: the signal goes to the whole process group."""


class ProcessIdentity(NamedTuple):
    """(boot, pid namespace, pid, start), compared exactly: no tolerance, no time window.

    ``start_ticks`` is field 22 of proc_pid_stat(5), in clock ticks since boot; on the portable path microseconds, since
    whenever the kernel counts. No step of the clock moves either.
    """

    boot_id: str
    pid_ns: int
    pid: int
    start_ticks: int

    @classmethod
    def of(cls, pid: int) -> "ProcessIdentity | None":
        """The process that has ``pid`` now; None: no such process. A zombie still has its identity."""
        seen = inspect(pid)
        return None if seen is None else cls(boot_id(), pid_namespace(), pid, seen.start_ticks)

    @classmethod
    def current(cls) -> "ProcessIdentity":
        """The calling process."""
        return _current(os.getpid())

    def of_neighbour(self, pid: int, start_ticks: int) -> "ProcessIdentity":
        """Another process of the same boot and pid namespace, whose start is known already."""
        return ProcessIdentity(self.boot_id, self.pid_ns, pid, start_ticks)

    def is_here(self) -> bool:
        """Whether it was started under this boot and in this pid namespace; others cannot be looked up."""
        return self.boot_id == boot_id() and self.pid_ns == pid_namespace()

    def is_alive(self) -> bool:
        """Whether it is still there; a zombie is, because its status is still to come."""
        seen = inspect(self.pid) if self.is_here() else None
        return seen is not None and seen.start_ticks == self.start_ticks

    def is_zombie(self) -> bool:
        """Whether it has ended and waits for its reaper."""
        seen = inspect(self.pid) if self.is_here() else None
        return seen is not None and seen.start_ticks == self.start_ticks and seen.zombie

    def is_exiting(self) -> bool:
        """Whether nothing of it runs any more: it is being ended, or has ended."""
        return not self.is_alive() or is_exiting(self.pid)

    def age(self) -> float:
        """Seconds since its start, by the kernel's clock, which no step of ours moves; of another boot: for ever."""
        return running_for(self.start_ticks) if self.is_here() else float("inf")

    def open_pidfd(self) -> int | None:
        """A descriptor that stays with this process; None: gone, a stranger has its pid, or there are no pidfds.

        First opened, then compared: what was compared is what the descriptor means, whoever gets the pid later.
        """
        if PORTABLE or not self.is_here():
            return None
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return None
        seen = inspect(self.pid)
        if seen is not None and seen.start_ticks == self.start_ticks:
            return fd
        os.close(fd)
        return None

    def signal(self, signum: int) -> bool:
        """Send a signal to this process and no other; False: gone or a stranger, nothing was sent.

        Raises PermissionError when it belongs to a user we may not signal.
        """
        if PORTABLE:
            return self._signal_portable(signum)
        fd = self.open_pidfd()
        if fd is None:
            return False
        try:
            signal.pidfd_send_signal(fd, signum)
        except ProcessLookupError:
            return False
        finally:
            os.close(fd)
        return True

    def signal_group(self, signum: int) -> bool:
        """Signal the whole process group of this process at one moment, which no daemon outruns by forking.

        False: gone, in our own group, or a kernel before 6.9 (PIDFD_SIGNAL_PROCESS_GROUP); nothing was sent.
        """
        fd = None if PORTABLE else self.open_pidfd()
        if fd is None:
            return False
        try:
            if os.getpgid(self.pid) == os.getpgrp():
                return False
            signal.pidfd_send_signal(fd, signum, None, PIDFD_SIGNAL_PROCESS_GROUP)
        except ProcessLookupError:
            return False
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            return False
        finally:
            os.close(fd)
        return True

    def _signal_portable(self, signum: int) -> bool:
        """Compare, then signal: without pidfds a moment lies between the two."""
        if not self.is_alive():
            return False
        try:
            os.kill(self.pid, signum)
        except ProcessLookupError:
            return False
        return True


@cache
def _current(pid: int) -> ProcessIdentity:
    """Keyed by pid, so that a fork asks anew."""
    identity = ProcessIdentity.of(pid)
    if identity is None:
        raise psutil.NoSuchProcess(pid)
    return identity
