"""Owns the temporary folders of browsers: each is locked by who made it, and those of killed ones go with the next.

A browser has one on disk, and one in memory for the small files of a profile that nobody keeps (decision 0149).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time

REMOVE_TIME, REMOVE_AGAIN = 2.0, 0.02  # seconds in which a folder must be gone; between two attempts
FOLDER_PREFIX = "archivebox-chrome-"
MEMORY_FOLDER, MEMORY_ROOM = "/dev/shm", 256 << 20  # noqa: S108  (mkdtemp follows); bytes that must be free there
SOCKET = f"/{FOLDER_PREFIX}12345678/org.chromium.Chromium.123456/SingletonSocket"


def short_temporary_folder() -> str:
    """Return TMPDIR unless it is too long: Chromium puts a socket below it, and its address has 107 bytes (unix(7))."""
    folder = tempfile.gettempdir()
    return folder if len(os.fsencode(folder)) + len(SOCKET) <= 107 else "/tmp"  # noqa: S108  (mkdtemp follows)


def remove_folder(folder: str) -> None:
    """Remove a folder that a hook of ours made. Processes that were just killed may finish a last write there."""
    deadline = time.monotonic() + REMOVE_TIME
    shutil.rmtree(folder, ignore_errors=True)
    while os.path.exists(folder) and time.monotonic() < deadline:
        time.sleep(REMOVE_AGAIN)
        shutil.rmtree(folder, ignore_errors=True)


def make_folder() -> tuple[str, int]:
    """Make our temporary folder and lock it; the lock falls with this process, however it ends."""
    return _make_folder_in(short_temporary_folder())


def make_folder_in_memory() -> tuple[str, int] | None:
    """Make one in shared memory (shm_overview(7)) and lock it.

    None where there is no room, or TMPDIR says where temporary files have to be.
    """
    if os.environ.get("TMPDIR"):
        return None
    try:
        status = os.statvfs(MEMORY_FOLDER)
        return _make_folder_in(MEMORY_FOLDER) if status.f_bavail * status.f_frsize >= MEMORY_ROOM else None
    except OSError:  # not Linux, or not ours to write in
        return None


def _make_folder_in(parent: str) -> tuple[str, int]:
    remove_what_killed_ones_left(parent)
    while True:
        folder = tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=parent)
        lock = locked(folder)
        if lock is not None:
            return folder, lock


def remove_what_killed_ones_left(parent: str) -> None:
    """Remove folders of hooks like this one that nobody holds any more."""
    for name in os.listdir(parent):
        folder = os.path.join(parent, name)
        if name.startswith(FOLDER_PREFIX) and (lock := locked(folder)) is not None:
            remove_folder(folder)
            os.close(lock)


def locked(folder: str) -> int | None:
    """Open a folder of ours and take its lock; None where it has an owner, is somebody else's, or has just gone."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # in a folder of everybody's anything may stand under our name, loops of links too
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_uid == os.geteuid() and os.path.samestat(os.stat(folder), os.fstat(lock)):
            return lock
        os.close(lock)
    except (BlockingIOError, FileNotFoundError):
        os.close(lock)
    return None
