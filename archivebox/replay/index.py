"""Owns what was recorded for one snapshot: where its records lie, which of them a URL gets, and reading one."""

import json
import os
import re
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import unquote, urlsplit

from archivebox.lib.warc import NotWarcError, RecordBlock, open_record, read_headers
from archivebox.plugins.base.responses import (
    CDXJ,
    DOCUMENTS,
    INDEX,
    REDIRECTS_MAX,
    DocumentFacts,
    Response,
    read_documents,
    read_index,
)
from archivebox.replay.files import NotThereError, open_beneath
from archivebox.replay.scripts.place import origin_of
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


_REMEMBERED = 32
"""Indices that are kept in memory: pages that are looked at right now."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One answer that can be shown: where its headers lie, where its body does (None: it had none) and its bytes."""

    response: Response
    head: Location
    body: Location | None
    size: int


class RecordingIndex:
    """The answers of one snapshot."""

    def __init__(
        self, recorded: Iterable[Recorded], failures: Mapping[str, str], documents: Mapping[str, DocumentFacts]
    ) -> None:
        """``recorded``: answers to requests of any method; ``failures``: why there is no answer, by URL.

        ``documents``: what the browser took documents for, by URL. ``origins``: scheme, host and port of all answers.
        ``has_service_worker``: whether one has made some of them.
        """
        self.failures = failures
        self._documents = documents
        self.count = 0
        self._main: Recorded | None = None
        self._named: dict[str, Recorded] = {}
        self._pieces: dict[str, list[Recorded]] = {}
        self._answers: defaultdict[tuple[str, str], list[Recorded]] = defaultdict(list)
        self.origins: set[str] = set()
        self.has_service_worker = False
        for one in sorted(recorded, key=_order):
            response = one.response
            self.origins.add(origin_of(response.url))
            self.has_service_worker |= response.record.get("source") == "service_worker"
            for name in {response.url, loose(response.url)}:
                self._answers[response.method, name].append(one)
            if response.method == "GET" and response.status != 304:
                self._add(one)

    def _add(self, one: Recorded) -> None:
        """Have it found by its names, unless a better answer is."""
        self.count += 1
        if one.response.is_main and not one.response.redirected_to:
            self._main = one
        if one.response.status == 206:
            self._pieces.setdefault(one.response.url, []).append(one)
        for name in self._names(one.response.url):
            known = self._named.get(name)
            if known is None or _merit(one) >= _merit(known):
                self._named[name] = one

    @staticmethod
    def _names(url: str) -> list[str]:
        # A name without its scheme is not a URL, and one without its query is marked: they never meet.
        return [url, loose(url), *(f"{name}*" for name in [bare(url)] if name)]

    def find(self, url: str) -> Recorded | None:
        """The best answer to ``url``, or to what is taken for it (see :func:`bare` and :func:`loose`)."""
        url = url.partition("#")[0]
        return next((found for name in self._names(url) if (found := self._named.get(name))), None)

    def answers(self, url: str, method: str = "GET") -> list[Recorded]:
        """All answers to ``url``, or to what differs from it in nothing that matters, in the order of the requests."""
        url = url.partition("#")[0]
        return self._answers.get((method, url)) or self._answers.get((method, loose(url)), [])

    def urls_like(self, pattern: re.Pattern[str], method: str = "GET") -> list[str]:
        """All URLs that were asked for by such a request and match, in the order of the requests."""
        asked = ((how, answers[0].response.url) for (how, _), answers in self._answers.items())
        return list(dict.fromkeys(url for how, url in asked if how == method and pattern.fullmatch(url)))

    def frame_answers(self, url: str) -> list[Recorded]:
        """What each frame (of another document than the page's own) showed at ``url``, in the order of the requests."""
        shown: dict[str, Recorded] = {}
        for number, one in enumerate(self.answers(url)):
            record, response = one.response.record, one.response
            is_shown = response.status not in {206, 304} and not response.redirected_to
            if record.get("type") == "Document" and is_shown and not response.is_main:
                shown[str(record.get("frame") or number)] = one
        return list(shown.values())

    def count_frames(self, url: str) -> int:
        """How many frames were answered at ``url``; 0 where all of them got the same."""
        answers = self.frame_answers(url)
        return len(answers) if len({one.response.sha256 for one in answers}) > 1 else 0

    def find_frame(self, url: str, number: int) -> Recorded | None:
        """What the ``number``-th frame (1, 2, …) at ``url`` showed; that of the last one beyond, the best one for 0."""
        answers = self.frame_answers(url) if number else []
        return answers[min(number, len(answers)) - 1] if answers else self.find(url)

    def page(self, url: str, final_url: str) -> str:
        """Where the page of ``url`` was when it was kept, led on by refreshes and scripts; empty: not recorded."""
        led_to = self.find(final_url) if final_url else None
        if led_to is not None and led_to.response.is_main:
            return final_url
        return url if self.find(url) is not None else ""

    def facts(self, found: Recorded) -> DocumentFacts | None:
        """What the browser took a document for; None for what is no document, and where it is not known."""
        response = found.response
        return self._documents.get(response.url) if response.record.get("type") == "Document" else None

    def user_of(self, found: Recorded) -> Recorded | None:
        """The document or style sheet that asked for an answer; the page, where that is not known."""
        asked_by = str(found.response.record.get("initiator", ""))
        return (self.find(asked_by) if asked_by else None) or self._main

    def pieces(self, found: Recorded) -> list[Recorded]:
        """All the parts (206) of what one of them was found for."""
        return self._pieces[found.response.url]

    def is_redirect_loop(self, one: Recorded) -> bool:
        """Whether its redirects never come to an end."""
        following: Recorded | None = one
        for _ in range(REDIRECTS_MAX):
            if following is None or not following.response.redirected_to:
                return False
            following = self.find(following.response.redirected_to)
        return True


def _order(one: Recorded) -> tuple[str, str, int]:
    """The time of the request; where several have one, the place of the answer in the recording."""
    record = one.response.record
    return str(record.get("time", "")), str(record.get("warc", "")), int(record.get("offset", 0))


def _merit(one: Recorded) -> tuple[bool, bool, bool, bool, bool]:
    """An answer that is whole before one that is cut or a part, a page before a redirect to it, a success before
    a failure, what was shown as a document before what a script fetched.
    """
    response = one.response
    is_document = response.record.get("type") == "Document"
    is_whole = not response.truncated
    return response.status != 206, is_whole, not response.redirected_to, response.status < 400, is_document


def load(folder: Path) -> RecordingIndex:
    """Read what was recorded in a snapshot's folder; nothing is there while nothing was recorded."""
    responses = [Response(record) for record in read_index(str(folder / "responses"))]
    failures = {one.url: one.error for one in responses if one.status == 0 and one.error}
    for one in responses:
        if one.method == "GET" and one.status not in {0, 304}:
            failures.pop(one.url, None)
    documents = read_documents(str(folder / "responses"))
    return RecordingIndex(_recorded(responses, Locations(folder, responses)), failures, documents)


def _recorded(responses: Iterable[Response], locations: Locations) -> Iterable[Recorded]:
    """Each answer whose record is there."""
    for one in responses:
        if not one.status:
            continue
        body, size = locations.body(one)
        head = locations.head(one) or body
        if head is not None and (body or not one.size):
            yield Recorded(one, head, body, size)


class Indices:
    """The indices of the snapshots that were looked at last, each read again when its files have changed."""

    def __init__(self) -> None:
        self._known: OrderedDict[Path, tuple[object, RecordingIndex]] = OrderedDict()
        self._lock = Lock()

    def of(self, folder: Path) -> RecordingIndex:
        """The index of a snapshot's folder. Blocks."""
        state = state_of(folder)
        with self._lock:
            known = self._known.get(folder)
        index = known[1] if known and known[0] == state else load(folder)
        with self._lock:
            self._known[folder] = state, index
            self._known.move_to_end(folder)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return index


def state_of(folder: Path) -> list[tuple[int, int]]:
    """What is another when the recording in a snapshot's folder has changed."""
    files = (folder / "responses" / INDEX, folder / "responses" / DOCUMENTS, folder / "warc" / CDXJ)
    return [_state(path) for path in files]


def _state(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


indices = Indices()


# --- which URLs are taken for one another ---------------------------------------------------------------------------
#
# A page may ask for what was recorded under a slightly other name. Three names are tried in order. The URL itself. Then
# without what does not tell two files apart: scheme, `www.`, the order of the query, and parameters that only keep
# caches from answering. Then, for files whose name says what they are (a picture, a font, a style sheet), without the
# query. Scripts that run again make names and times anew: see `fresh_pattern`.

_BUSTERS = frozenset({"_", "cb", "cachebust", "cachebuster", "cache", "nocache", "no-cache", "rnd", "rand", "random"})
_CLOCKS = frozenset({"t", "ts", "time", "timestamp", "v", "ver", "version"})
"""Cache busters where their value is a number of eight digits or more, which is a time."""
_TIME = re.compile(r"\d{8,}(\.\d+)?")
_CALLBACK = re.compile(r"jQuery(?=\w*+\Z)\w*?\d{8}")
RANDOM = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"  # a UUID
    r"|\d{4}-\d\d-\d\dT\d\d(?::|%3A)\d\d(?::|%3A)\d\d[\d.]*(?:Z|[+-]\d\d:?\d\d)?"  # a time as JSON has it
    r"|(?<=\b0\.)\d{6,}"  # a part of one, as Math.random() has it
    r"|\d{10,}(?:\.\d+)?"  # a time, or a number as long as one
    r"|[0-9a-f]{16,}",
    re.IGNORECASE,
)
"""What programs put in where they want a name or a time that nobody else has."""
MADE_HERE = "a5c41fe5"
"""How random names begin that are made in a script view (shim.js): they are told from recorded ones by it."""
_DAY = 24 * 60 * 60
_FILE = re.compile(
    r"\.(css|js|mjs|png|jpe?g|gif|webp|avif|svg|ico|bmp|woff2?|ttf|otf|eot|mp4|webm|mp3|ogg|wav|m4a|vtt)$",
    re.IGNORECASE,
)


def loose(url: str) -> str:
    """The second name of a URL."""
    parts = urlsplit(url)
    query = "&".join(sorted(each for each in parts.query.split("&") if each and not _is_buster(each)))
    return f"{_place(url)}?{query}" if query else _place(url)


def bare(url: str) -> str:
    """The third name; empty where the query may say which of many things it is."""
    place = _place(url)
    return place if _FILE.search(place) else ""


def fresh_pattern(url: str, clock: int) -> re.Pattern[str] | None:
    """What a URL is called in the recording that has names and times in it which scripts of a view have just made.

    None: it has none. ``clock``: that of the view, in milliseconds.
    """
    parts, last = [], 0
    for found in RANDOM.finditer(url):
        is_part = url[: found.start()].endswith("0.")
        if is_part or MADE_HERE in found[0].lower() or abs(_seconds(found[0]) - clock / 1000) < _DAY:
            parts += [re.escape(url[last : found.start()]), f"(?:{RANDOM.pattern})"]
            last = found.end()
    return re.compile("".join([*parts, re.escape(url[last:])]), re.IGNORECASE) if parts else None


def _seconds(text: str) -> float:
    """Seconds since 1970 that a number (of whole, milli- or microseconds) or a time means; 0 for neither."""
    whole = text.partition(".")[0]
    if whole.isascii() and whole.isdigit():
        return float(f"{text}e{10 - len(whole)}")
    try:
        return datetime.fromisoformat(unquote(text)).timestamp()
    except ValueError:
        return 0.0


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.netloc.lower().removeprefix('www.')}{parts.path or '/'}"


def _is_buster(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    name = name.lower()
    return name in _BUSTERS or (name in _CLOCKS and bool(_TIME.fullmatch(value))) or bool(_CALLBACK.match(value))


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
