"""Owns whether Chromium has its sandbox here, and what is said where it has none."""

import os
import sys
from typing import NamedTuple

from archivebox.config.settings import DATA_FOLDER
from archivebox.machine.host import Machine
from archivebox.machine.process import Process

NAMESPACE = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(0 if libc.unshare(0x10000000) == 0 and libc.unshare(0x20000000 | 0x40000000) == 0 else 1)
"""
"""What the sandbox does first, tried as this very user: unshare(2) of user, then of pid and network."""


class SandboxProblem(NamedTuple):
    """Why Chromium has no sandbox, and what to do."""

    sentence: str
    action: str


ROOT = SandboxProblem(
    "Running as root: Chromium runs without its sandbox.",
    "Run ArchiveBox as an ordinary user, so that hostile pages stay in Chromium's sandbox.",
)
NO_NAMESPACES = SandboxProblem(
    "This user cannot create user namespaces: Chromium runs without its sandbox.",
    "Allow them: in a container by --security-opt seccomp=seccomp.json (docs/install.md), on Ubuntu by "
    "sysctl kernel.apparmor_restrict_unprivileged_userns=0.",
)


def sandbox_problem(parent: Process | None) -> SandboxProblem | None:
    """What keeps the sandbox off; None where it works, or cannot be tried: that takes a process below ``parent``."""
    if sys.platform != "linux":
        return None
    if os.geteuid() == 0:
        return ROOT
    if parent is None:
        return None
    probe = Process(
        machine=Machine.current(),
        parent=parent,
        process_type=Process.TypeChoices.BINARY,
        cmd=[sys.executable, "-I", "-c", NAMESPACE],
        pwd=str(DATA_FOLDER.root),
        timeout=10,
    )
    return None if probe.launch().exit_code == 0 else NO_NAMESPACES
