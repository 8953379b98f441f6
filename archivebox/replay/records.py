"""Owns reading one record of a WARC: the headers that a server sent, and the body, never past the record's length."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from archivebox.lib.warc import NotWarcError, RecordBlock, open_record, read_headers
from archivebox.replay.files import NotThereError, open_beneath
from archivebox.replay.locations import Location


@contextmanager
def opened(folder: Path, place: Location) -> Iterator[tuple[Mapping[str, str], RecordBlock]]:
    """The headers, names in lower case, and a block that stands at the body's first byte. Blocks.

    NotThereError where the file is gone, or no record is there. The body of a revisit record is empty (WARC 1.1, 6.7).
    Bodies lie as the browser got them, without transfer and content coding.
    """
    with _open_record(folder, place, place.offset) as (_, block):
        yield read_headers(block), block


def read_request_body(folder: Path, place: Location, most: int) -> bytes:
    """The first ``most`` bytes of the body with which was asked for what lies at ``place``; none where none was sent.

    The recorder writes the request behind its answer.
    """
    try:
        with _open_record(folder, place, place.offset + place.length) as (fields, block):
            if fields.get("warc-type") != "request":
                return b""
            read_headers(block)
            return block.read(most)
    except NotThereError:
        return b""


@contextmanager
def _open_record(folder: Path, place: Location, offset: int) -> Iterator[tuple[Mapping[str, str], RecordBlock]]:
    """The fields of the record that begins at ``offset``, and its block."""
    found = open_beneath(folder, [place.folder, place.name])
    with os.fdopen(found.descriptor, "rb") as file:
        file.seek(offset)
        try:
            record = open_record(file, is_packed=place.is_packed)
        except NotWarcError as error:
            raise NotThereError("no record begins there") from error
        yield record
