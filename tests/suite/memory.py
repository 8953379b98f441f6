"""Owns the disk in memory that the temporary folders of a whole run lie on, where root may mount one.

A run makes and deletes 100,000s of files, and half of its processes sync what they write.
"""

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

NEEDED = 8 << 30
"""Bytes of free memory; half of it may be filled, of which a run takes 2 GB. With less, folders stay on the disk."""
NEW_MOUNT_NAMESPACE = 0x0002_0000
"""CLONE_NEWNS of unshare(2): what is mounted ends with the processes of this run, however they end."""


@contextmanager
def temporary_folders_in_memory() -> Iterator[None]:
    """Of this process, and of all that it starts."""
    available = psutil.virtual_memory().available
    if sys.platform != "linux" or os.geteuid() != 0 or available < NEEDED:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="memory-") as folder:
        if not _mount(folder, available // 2):
            yield
            return
        usual = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        try:
            yield
        finally:
            os.environ["TMPDIR"] = tempfile.tempdir = usual or "/tmp"
            subprocess.run(["umount", "--lazy", folder], check=True)


def _mount(folder: str, size: int) -> bool:
    """Whether a container lets us."""
    if ctypes.CDLL(None).unshare(NEW_MOUNT_NAMESPACE):
        return False
    commands = (
        ["mount", "--make-rprivate", "/"],
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=1777", "archivebox-tests", folder],
    )
    return all(subprocess.run(command, check=False).returncode == 0 for command in commands)
