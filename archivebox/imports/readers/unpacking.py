"""Owns unpacking a WARC that was packed as one: its records cannot be read alone."""

import gzip
import zlib
from pathlib import Path
from typing import BinaryIO

from archivebox.imports.page import Stop
from archivebox.imports.readers.warc_records import RATIO_MOST, UNPACKED_ALWAYS, ArchiveError, WarcSource

_READ = 1 << 20


def unpacked(source: WarcSource, target: Path, stop: Stop) -> WarcSource:
    """The same, plain; what is behind a damaged place is not there. ArchiveError for a bomb."""
    most = UNPACKED_ALWAYS + RATIO_MOST * source.size
    with source.open() as file, target.open("wb") as plain:
        copy_bounded(gzip.GzipFile(fileobj=file), plain, most, stop)
    return WarcSource(source.name, target.stat().st_size, lambda: target.open("rb"))


def copy_bounded(packed: "gzip.GzipFile | BinaryIO", plain: BinaryIO, most: int, stop: Stop) -> None:
    """Write what can be unpacked; ArchiveError beyond so many bytes. ``stop`` is called before each block."""
    count = 0
    try:
        while data := packed.read(_READ):
            stop()
            count += len(data)
            if count > most:
                raise ArchiveError(
                    f"it unpacks to more than {RATIO_MOST} times its size, which no archive of pages does"
                )
            plain.write(data)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return
