"""The only caller of Linux system calls that Python's standard library does not offer.

Imports nothing of ours: the fork server, which has no package around it, loads this very file.
"""

import ctypes
import errno
import fcntl
import os
import struct
from typing import Final, NamedTuple

_LIBC = ctypes.CDLL(None, use_errno=True)
_WAITID_NUMBERS: Final = {"x86_64": 247, "aarch64": 95, "riscv64": 95, "loongarch64": 95, "ppc64le": 272, "s390x": 281}
WAITID_NUMBER: Final = _WAITID_NUMBERS.get(os.uname().machine)
"""Number of the waitid system call here (64 bit machines only, from the kernel's tables); None: not known."""

P_PID: Final = 1
P_PIDFD: Final = 3
_WNOHANG, _WEXITED, _WNOWAIT = 0x1, 0x4, 0x01000000
_CLD_EXITED: Final = 1

_SIGINFO = struct.Struct("@iiiiiii")  # signo, errno, code, padding, pid, uid, status (64 bit layout, signal.h)
_RUSAGE = struct.Struct("@lllll")  # utime s, us; stime s, us; maxrss in kB; eleven more that nobody asks for
_RUSAGE_SIZE: Final = 144

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_FALLOC_KEEP_SIZE, _FALLOC_PUNCH_HOLE = 0x1, 0x2

_PIDFD_GET_INFO: Final = 0xC040FF0B  # _IOWR(0xFF, 11, 64 bytes): struct pidfd_info, linux/pidfd.h
_PIDFD_INFO_EXIT: Final = 1 << 3
_PIDFD_INFO = struct.Struct("@QQ11Ii")


class Waited(NamedTuple):
    """What waitid(2) says of an ended child: Popen's exit code, CPU seconds, peak memory in bytes."""

    exit_code: int
    user_seconds: float
    system_seconds: float
    max_rss: int


def waitid(idtype: int, which: int, *, reap: bool) -> Waited | None:
    """Peek at an ended child with its resource usage, or reap it; None: it still runs.

    The raw system call's fifth argument gives the usage, also with WNOWAIT; glibc's wrapper and os.waitid do not.
    Raises ChildProcessError when it is no child of ours (any more).
    """
    info = ctypes.create_string_buffer(128)
    usage = ctypes.create_string_buffer(_RUSAGE_SIZE)
    options = _WEXITED | _WNOHANG | (0 if reap else _WNOWAIT)
    while _LIBC.syscall(WAITID_NUMBER, idtype, which, info, options, usage) != 0:
        number = ctypes.get_errno()
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number))
    _, _, code, _, pid, _, status = _SIGINFO.unpack_from(info)
    if pid == 0:
        return None
    user, user_us, system, system_us, rss = _RUSAGE.unpack_from(usage)
    exit_code = status if code == _CLD_EXITED else -status
    return Waited(exit_code, user + user_us / 1e6, system + system_us / 1e6, rss * 1024)


def set_child_subreaper() -> bool:
    """Have orphaned descendants reparented to this process (prctl(2), PR_SET_CHILD_SUBREAPER)."""
    return bool(_LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def set_parent_death_signal(signum: int) -> bool:
    """Get ``signum`` when the thread that started this process ends (prctl(2), PR_SET_PDEATHSIG); a fork clears it."""
    return bool(_LIBC.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0) == 0)


def punch_hole(fd: int, offset: int, length: int) -> bool:
    """Give back the blocks of a part of a file; its size stays. False: this file system has no holes."""
    mode = _FALLOC_KEEP_SIZE | _FALLOC_PUNCH_HOLE
    if _LIBC.fallocate(fd, mode, ctypes.c_int64(offset), ctypes.c_int64(length)) == 0:
        return True
    number = ctypes.get_errno()
    if number in {errno.EOPNOTSUPP, errno.ENOSYS}:
        return False
    raise OSError(number, os.strerror(number))


def exit_code_of(pidfd: int) -> int | None:
    """Exit code of a process that anybody reaped while ``pidfd`` was open (Linux >= 6.15); None: not known."""
    request = bytearray(64)
    struct.pack_into("@Q", request, 0, _PIDFD_INFO_EXIT)
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, request)
    except OSError:  # ENOTTY and EINVAL on older kernels, ESRCH for one without exit information
        return None
    fields = _PIDFD_INFO.unpack_from(request)
    return os.waitstatus_to_exitcode(fields[-1]) if fields[0] & _PIDFD_INFO_EXIT else None
