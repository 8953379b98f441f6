"""Owns what was recorded for one snapshot, found by URL: the log of the recorder, and where each answer lies."""

import re
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

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
from archivebox.replay.locations import Location, Locations
from archivebox.replay.matching import bare, loose
from archivebox.replay.scripts.place import origin_of

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
        """The best answer to ``url``, or to what is taken for it (:mod:`archivebox.replay.matching`)."""
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
