"""Logs of processes: read in blocks or from the end, whatever became of their file."""

import errno
import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

log = logging.getLogger(__name__)

LogPath: TypeAlias = Path | str
TAIL = 2048
"""Bytes of each stream that the row keeps; the files keep the rest."""
BLOCK = 1 << 16
"""Bytes of a log read at a time."""


def read_tail(path: LogPath, most: int = TAIL) -> tuple[str, int]:
    """The last ``most`` bytes of a log as text, and the size of the whole in bytes; any bytes are tolerated.

    A log that is not there, or cannot be read, is empty: its folder was in the hands of a hook.
    """
    descriptor = open_log(path)
    if descriptor is None:
        return "", 0
    try:
        size = os.fstat(descriptor).st_size
        data = os.pread(descriptor, most, max(0, size - most)) if size else b""
    except OSError as error:
        _tell(error)
        return "", 0
    finally:
        os.close(descriptor)
    return data.decode("utf-8", "replace").replace("\0", "\ufffd"), size


def read_blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """The bytes of a log and where they stand, in order; the holes of what was given back are passed over.

    What cannot be read ends it: its folder was in the hands of a hook.
    """
    descriptor = open_log(path)
    if descriptor is None:
        return
    try:
        position = 0
        while (position := _next_data(descriptor, position)) >= 0 and (data := os.pread(descriptor, BLOCK, position)):
            yield position, data
            position += len(data)
    except OSError as error:
        _tell(error)
    finally:
        os.close(descriptor)


def open_log(path: LogPath, flags: int = os.O_RDONLY) -> int | None:
    """The descriptor of a log; None where it is not there, is no plain file, or its folder answers otherwise.

    Its folder was in the hands of a hook: who waits for a pipe waits for ever, and a link may lead anywhere.
    """
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        _tell(error)
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def _next_data(descriptor: int, position: int) -> int:
    """Where data next stands in the file at or after ``position``; -1 at its end."""
    try:
        return os.lseek(descriptor, position, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return -1
        raise


def _tell(error: OSError) -> None:
    log.warning("A log cannot be read: %s action=log_unreadable", error)
