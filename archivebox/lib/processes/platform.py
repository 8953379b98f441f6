"""The choice between the Linux way and the portable way of looking at processes, made once at import."""

import os
import platform
import sys
from typing import Final

WAITID_NUMBERS: Final = {"x86_64": 247, "aarch64": 95, "riscv64": 95, "loongarch64": 95, "ppc64le": 272, "s390x": 281}
"""Number of the waitid system call by machine (64 bit only); from the kernel's ``unistd`` tables."""


def _kernel_is_able() -> bool:
    """Whether pidfds, ``waitid`` with rusage and ``/proc`` work here (Linux >= 5.4, no seccomp filter in between)."""
    if sys.platform != "linux" or platform.machine() not in WAITID_NUMBERS:
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:  # ENOSYS on old kernels, EPERM under some sandboxes
        return False
    return os.access(f"/proc/{os.getpid()}/task/{os.getpid()}/children", os.R_OK)


PORTABLE: Final[bool] = os.environ.get("ARCHIVEBOX_PORTABLE") == "1" or not _kernel_is_able()
