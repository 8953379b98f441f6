"""Owns what was recorded for one snapshot, found by URL: the log of the recorder, and where each answer lies."""

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from archivebox.plugins.base.responses import CDXJ, INDEX, REDIRECTS_MAX, Response, read_index
from archivebox.replay.matching import bare, loose

_EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""SHA-256 of no bytes, which the WARC names where an answer had no body."""
_REMEMBERED = 32
"""Indices that are kept in memory: pages that are looked at right now."""


@dataclass(frozen=True, slots=True)
class Location:
    """One record: the file, relative to the snapshot's folder, and where it begins in it."""

    folder: str
    name: str
    offset: int

    @property
    def is_packed(self) -> bool:
        return self.name.endswith(".gz")


@dataclass(frozen=True, slots=True)
class Recorded:
    """One answer that can be shown: where its headers lie, where its body does (None: it had none) and its bytes."""

    response: Response
    head: Location
    body: Location | None
    size: int


class Index:
    """The answers of one snapshot."""

    def __init__(self, recorded: Iterable[Recorded], failures: Mapping[str, str]) -> None:
        """``failures``: why there is no answer, by URL."""
        self.failures = failures
        self.count = 0
        self._named: dict[str, Recorded] = {}
        self._pieces: dict[str, list[Recorded]] = {}
        for one in recorded:
            self.count += 1
            if one.response.status == 206:
                self._pieces.setdefault(one.response.url, []).append(one)
            for name in self._names(one.response.url):
                known = self._named.get(name)
                if known is None or _merit(one) >= _merit(known):
                    self._named[name] = one

    @staticmethod
    def _names(url: str) -> list[str]:
        # A name without its scheme is no URL, and one without its query is marked: they never meet.
        return [url, loose(url), *(f"{name}*" for name in [bare(url)] if name)]

    def find(self, url: str) -> Recorded | None:
        """The best answer to ``url``, or to what is taken for it (:mod:`archivebox.replay.matching`)."""
        url = url.partition("#")[0]
        return next((found for name in self._names(url) if (found := self._named.get(name))), None)

    def page(self, url: str, final_url: str) -> str:
        """Where the page of ``url`` was when it was kept, led on by refreshes and scripts; empty: not recorded."""
        led_to = self.find(final_url) if final_url else None
        if led_to is not None and led_to.response.is_main:
            return final_url
        return url if self.find(url) is not None else ""

    def pieces(self, found: Recorded) -> list[Recorded]:
        """All the parts (206) of what one of them was found for."""
        return self._pieces[found.response.url]

    def leads_in_circles(self, one: Recorded) -> bool:
        """Whether its redirects never come to an end."""
        following: Recorded | None = one
        for _ in range(REDIRECTS_MAX):
            if following is None or not following.response.redirected_to:
                return False
            following = self.find(following.response.redirected_to)
        return True


def _merit(one: Recorded) -> tuple[bool, bool, bool, bool]:
    """An answer that is whole before one that is cut or a part, a page before a redirect to it, a success before
    a failure.
    """
    response = one.response
    return response.status != 206, not response.truncated, not response.redirected_to, response.status < 400


def load(folder: Path) -> Index:
    """Read what was recorded in a snapshot's folder; nothing is there while nothing was recorded."""
    responses = [Response(record) for record in read_index(str(folder / "responses"))]
    places = _Places(folder, responses)
    shown = [one for one in responses if one.method == "GET" and one.status not in {0, 304}]
    failures = {one.url: one.error for one in responses if one.status == 0 and one.error}
    for one in shown:
        failures.pop(one.url, None)
    return Index(places.recorded(shown), failures)


class _Places:
    """Where the records lie: in the recorder's own file, or in what the plugin ``warc`` packed of it."""

    def __init__(self, folder: Path, responses: Iterable[Response]) -> None:
        self._plain = set(_names_in(folder / "responses"))
        self._packed = dict(_packed(folder / "warc"))
        self._bodies = {
            one.sha256: (place, one.size)
            for one in responses
            if one.sha256 and not one.record.get("revisit") and (place := self._of(one))
        }

    def recorded(self, responses: Iterable[Response]) -> Iterable[Recorded]:
        for one in responses:
            head = self._of(one)
            body, size = self._bodies.get(one.sha256, (None, 0))
            place = head or body
            if place is not None:
                yield Recorded(one, place, body, size)

    def _of(self, response: Response) -> Location | None:
        name = response.record.get("warc")
        if name is None:  # it came out of the browser's cache: another answer has its record
            return None
        if name in self._plain:
            return Location("responses", name, response.record["offset"])
        return self._packed.get((response.url, _moment(str(response.record["time"])), response.sha256 or _EMPTY))


def _packed(folder: Path) -> Iterable[tuple[tuple[str, str, str], Location]]:
    """URL, moment and digest of each line of the CDXJ, and where its record lies."""
    if not (folder / CDXJ).exists():
        return
    with (folder / CDXJ).open(encoding="utf-8") as lines:
        for line in lines:
            _, moment, text = line.split(" ", 2)
            fields: dict[str, Any] = json.loads(text)
            digest = fields["digest"].removeprefix("sha256:")
            yield (fields["url"], moment, digest), Location("warc", fields["filename"], int(fields["offset"]))


def _moment(date: str) -> str:
    """A WARC-Date as a CDXJ has it."""
    return re.sub(r"\D", "", date)[:14]


def _names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("*.warc")]


class Indices:
    """The indices of the snapshots that were looked at last, each read again when its files have changed."""

    def __init__(self) -> None:
        self._known: OrderedDict[Path, tuple[object, Index]] = OrderedDict()
        self._lock = Lock()

    def of(self, folder: Path) -> Index:
        """The index of a snapshot's folder. Blocks."""
        state = [_state(folder / "responses" / INDEX), _state(folder / "warc" / CDXJ)]
        with self._lock:
            known = self._known.get(folder)
        index = known[1] if known and known[0] == state else load(folder)
        with self._lock:
            self._known[folder] = state, index
            self._known.move_to_end(folder)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return index


def _state(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


indices = Indices()
