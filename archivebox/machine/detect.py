"""Facts about the machine this runs on."""

import os
import platform
import socket
from pathlib import Path

from archivebox import __version__


def describe_host() -> dict[str, object]:
    """Facts for a Machine row, from the standard library alone: psutil would cost every command 15 ms."""
    return {
        "version": __version__,
        "hostname": socket.gethostname(),
        "os_family": platform.system().lower(),
        "os_platform": _platform(),
        "os_kernel": platform.release(),
        "arch": platform.machine(),
        "cpu_count": os.cpu_count() or 1,
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "in_container": Path("/.dockerenv").exists() or Path("/run/.containerenv").exists(),
    }


def _platform() -> str:
    """System, kernel, processor and C library, as `platform.platform()`, which starts a program to find these."""
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    if not libc:
        return platform.platform()
    system = os.uname()
    return f"{system.sysname}-{system.release}-{system.machine}-with-{libc.replace(' ', '')}"
