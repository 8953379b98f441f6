"""The end of a log, as the row of its process keeps it."""

import os
from pathlib import Path

TAIL = 2048
"""Bytes of each stream that the row keeps; the files keep the rest."""


def read_tail(path: Path) -> tuple[str, int]:
    """The last 2 KB of a log as text, and the size of the whole in bytes; any bytes are tolerated."""
    try:
        log = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return "", 0
    try:
        size = os.fstat(log).st_size
        data = os.pread(log, TAIL, max(0, size - TAIL)) if size else b""
    finally:
        os.close(log)
    return data.decode("utf-8", "replace").replace("\0", "\ufffd"), size
