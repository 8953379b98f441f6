"""Owns where the records of a snapshot lie, in the recorder's own file or in what the plugin ``warc`` packed of it, and
reads one: the headers that a server sent, and the body, never past the record's length.
"""

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archivebox.lib.warc import NotWarcError, RecordBlock, open_record, read_headers
from archivebox.plugins.base.responses import CDXJ, Response
from archivebox.replay.files import NotThereError, open_beneath
from archivebox.storage.shared_files import is_linked_name

_EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""SHA-256 of no bytes, which the WARC names where an answer had no body."""
_REVISIT = "warc/revisit"


@dataclass(frozen=True, slots=True)
class Location:
    """One record: the file, relative to the snapshot's folder, where it begins in it, and its bytes in it."""

    folder: str
    name: str
    offset: int
    length: int

    @property
    def is_packed(self) -> bool:
        return self.name.endswith(".gz")


@dataclass(frozen=True, slots=True)
class _CDXLine:
    """One line of the CDXJ. ``record``: WARC-Record-ID, empty in lines from before they had it."""

    record: str
    key: tuple[str, str, str, str, bool]
    location: Location

    @property
    def digest(self) -> str:
        return self.key[3]


class Locations:
    """Where the headers and the bodies of ``responses`` lie; a body is never looked for in a revisit record."""

    def __init__(self, folder: Path, responses: Iterable[Response]) -> None:
        recorded = [one for one in responses if one.record.get("warc")]
        self._plain = {path.name for path in (folder / "responses").glob("*.warc")}
        self._packed = _find_packed(folder / "warc", recorded)
        self._heads: dict[tuple[str, str], Location] = {}
        self._bodies: dict[str, tuple[Location, int]] = {}
        shared = _shared_bodies(folder / "warc")
        for one in recorded:
            location = self._of_record(one)
            if location and one.sha256:
                self._heads.setdefault((one.url, one.sha256), location)
                if not one.record.get("revisit"):
                    body = location if location.folder == "responses" else shared.get(one.sha256, location)
                    self._bodies.setdefault(one.sha256, (body, one.size))

    def head(self, response: Response) -> Location | None:
        """The record with the headers of a response; of one from the browser's cache, those it was cached with."""
        if response.record.get("warc"):
            return self._of_record(response)
        return self._heads.get((response.url, response.sha256))

    def body(self, response: Response) -> tuple[Location | None, int]:
        """The record with the body of a response, and the bytes of it; None where there is no body."""
        return self._bodies.get(response.sha256, (None, 0))

    def _of_record(self, response: Response) -> Location | None:
        record = response.record
        if record["warc"] in self._plain:
            return Location("responses", record["warc"], record["offset"], record.get("length", 0))
        return self._packed.get(_identity(response))


def _identity(response: Response) -> tuple[str, int]:
    """What tells a record from all others of its snapshot: the recorder's file, and the place in it."""
    return response.record["warc"], response.record["offset"]


def _find_packed(folder: Path, recorded: Iterable[Response]) -> dict[tuple[str, int], Location]:
    """The packed record of each response.

    By record id. Lines from before they named it are told apart by file, URL, second, digest and kind of record, and
    where several have all in common by their order, which packing keeps.
    """
    by_record: dict[str, Location] = {}
    unnamed: defaultdict[tuple[str, str, str, str, bool], list[Location]] = defaultdict(list)
    for line in _cdxj_lines(folder):
        if line.record:
            by_record[line.record] = line.location
        else:
            unnamed[line.key].append(line.location)
    queues = {key: iter(sorted(each, key=lambda one: one.offset)) for key, each in unnamed.items()}
    found: dict[tuple[str, int], Location] = {}
    confirmed: dict[str, str] = {}  # URL: digest of what a 304 says has not changed
    for response in sorted(recorded, key=_identity):
        if response.method == "GET" and response.status == 200:
            confirmed.setdefault(response.url, response.sha256)
        digest = confirmed.get(response.url) if response.status == 304 else response.sha256
        queue = queues.get(_key(response, digest or _EMPTY), iter(()))
        location = by_record.get(str(response.record.get("record"))) or next(queue, None)
        if location is not None:
            found[_identity(response)] = location
    return found


def _shared_bodies(folder: Path) -> dict[str, Location]:
    """By digest, the files that hold nothing but the record of one body, which may be that of an earlier page."""
    lines = (line for line in _cdxj_lines(folder) if is_linked_name(line.location.name))
    return {line.digest: line.location for line in lines}


def _key(response: Response, digest: str) -> tuple[str, str, str, str, bool]:
    """What a line of the CDXJ without a record id says of the record of a response."""
    record = response.record
    moment = _moment(str(record["time"]))
    return f"{record['warc']}.gz", response.url, moment, digest, bool(record.get("revisit"))


def _cdxj_lines(folder: Path) -> Iterator[_CDXLine]:
    if not (folder / CDXJ).exists():
        return
    with (folder / CDXJ).open(encoding="utf-8") as lines:
        for line in lines:
            _, moment, text = line.split(" ", 2)
            fields: dict[str, Any] = json.loads(text)
            name, digest = fields["filename"], fields["digest"].removeprefix("sha256:")
            yield _CDXLine(
                fields.get("record", ""),
                (name, fields["url"], moment, digest, fields["mime"] == _REVISIT),
                Location("warc", name, int(fields["offset"]), int(fields["length"])),
            )


def _moment(date: str) -> str:
    """A WARC-Date as a CDXJ has it."""
    return re.sub(r"\D", "", date)[:14]


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
