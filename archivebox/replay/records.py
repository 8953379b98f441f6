"""Owns reading one record of a WARC: the headers that a server sent, and the body, from any byte on."""

import gzip
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from archivebox.lib.warc import read_headers
from archivebox.replay.files import NotThereError, open_beneath
from archivebox.replay.index import Location


@contextmanager
def opened(folder: Path, place: Location) -> Iterator[tuple[Mapping[str, str], BinaryIO]]:
    """The headers, names in lower case, and a file that stands at the body's first byte. Blocks.

    NotThereError where the file is gone. Bodies lie as the browser got them, without transfer and content coding.
    """
    found = open_beneath(folder, [place.folder, place.name])
    with os.fdopen(found.descriptor, "rb") as file:
        file.seek(place.offset)
        record = cast("BinaryIO", gzip.GzipFile(fileobj=file)) if place.is_packed else file
        try:
            read_headers(record)  # the record's own
            yield read_headers(record), record
        except (EOFError, gzip.BadGzipFile) as error:
            raise NotThereError from error
