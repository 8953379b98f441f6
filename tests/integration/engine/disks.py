"""A small disk of its own for a test: a tmpfs, which root may mount, and what fills it."""

import contextlib
import errno
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEGABYTE = 1 << 20


class Disk:
    """One mounted tmpfs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self) -> None:
        """Leave nothing free."""
        descriptor = os.open(self._filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            for size in (MEGABYTE, 4096):
                with contextlib.suppress(OSError):
                    while True:
                        os.write(descriptor, bytes(size))
        finally:
            os.close(descriptor)

    def free(self) -> None:
        self._filler.unlink()

    def remount(self, mode: str) -> None:
        """``ro`` or ``rw``; the kernel lets nobody who writes keep a file open over the first."""
        subprocess.run(["mount", "-o", f"remount,{mode}", self.path], check=True)


@contextlib.contextmanager
def small_disk(path: Path, megabytes: int = 24, files: int = 0) -> Iterator[Disk]:
    """Mount one, and unmount it whatever is still open in it; the test is skipped where one may not mount.

    ``files``: it takes so many at most.
    """
    path.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,nr_inodes={files}", "archivebox-test", str(path)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount(8)")
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip() or os.strerror(errno.EPERM)}")
    try:
        yield Disk(path)
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let nobody open anything below a folder for writing; what is open stays so (mount(8), bind mounts)."""
    with tempfile.TemporaryDirectory() as aside:  # where nobody opens anything before it is read-only
        subprocess.run(["mount", "--bind", folder, aside], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", aside], check=True)
        subprocess.run(["mount", "--bind", aside, folder], check=True)
        subprocess.run(["umount", aside], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
