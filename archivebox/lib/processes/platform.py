"""The choice between the Linux way and the portable way of looking at processes, made once at import."""

import os
import sys
from typing import Final

from archivebox.lib.processes.linux import WAITID_NUMBER


def _kernel_is_able() -> bool:
    """Whether pidfds, ``waitid`` with rusage and ``/proc`` work here (Linux >= 5.4, no seccomp filter in between)."""
    if sys.platform != "linux" or WAITID_NUMBER is None:
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:  # ENOSYS on old kernels, EPERM under some sandboxes
        return False
    return os.access(f"/proc/{os.getpid()}/task/{os.getpid()}/children", os.R_OK)


PORTABLE: Final[bool] = os.environ.get("ARCHIVEBOX_PORTABLE") == "1" or not _kernel_is_able()
