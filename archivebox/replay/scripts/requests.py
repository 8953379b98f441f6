"""Owns what a script view answers: a recorded answer, one of its own few addresses, or that there is none."""

import json
import re
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from archivebox.replay.index import Recorded, RecordingIndex, fresh_pattern, indices
from archivebox.replay.pages import HTML, error_page
from archivebox.replay.recorded import RecordedRequest, Reply, reply_to, whole
from archivebox.replay.scripts.exchanges import Socket, as_json, names_of, nth_answer, posted, repeats, sockets_to
from archivebox.replay.scripts.memory import LocalViewMemory, ViewMemory
from archivebox.replay.scripts.page import SHIM
from archivebox.replay.scripts.place import FOREIGN, ScriptPlace, origin_of, place_of
from archivebox.replay.scripts.policy import VIOLATIONS

FRAMES = frozenset({"iframe", "frame"})
"""What a document is fetched for that may run scripts (Fetch, 3.2.7)."""
WORKERS = frozenset({"worker", "sharedworker"})
MISSING = "archived-missing"
"""The header of an answer that was not recorded, by which the shim tells it from a recorded 404."""
DOCUMENT = "archived-document"
"""The header in which the shim says which document asks: repeated requests of one get one answer after the other."""
EVENTS = "text/event-stream"
WORKER_MOST = 16 * 1024 * 1024
"""Bytes of a worker's script."""
_JSON = "application/json; charset=utf-8"
_SCRIPT = "text/javascript; charset=utf-8"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_STRICT = re.compile(r"""\s*(?:/\*.*?\*/\s*|//[^\n]*\n\s*)*(?:"use strict"|'use strict')""", re.DOTALL)
_SHIM_FILE = Path(__file__).with_name("shim.js")


class ForbiddenError(Exception):
    """A view answers no such request."""


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """What a browser asks a view for. ``target``: path and query. ``destination``: the Fetch standard's, ``empty`` for
    what a script asks for; empty where the browser does not say.
    """

    target: str
    method: str = "GET"
    destination: str = ""
    referrer: str = ""
    document: str = ""
    range: str = ""
    body: bytes = b""

    @property
    def may_run(self) -> bool:
        """Whether scripts run in what is answered."""
        return self.destination in FRAMES | WORKERS


@dataclass(frozen=True)
class ScriptedPage:
    """One view of a page with its scripts: ``folder`` is its snapshot's. It needs no database and no network."""

    folder: Path
    place: ScriptPlace
    memory: ViewMemory = field(default_factory=LocalViewMemory)

    def reply(self, request: ViewRequest, *, apart: bool = False) -> Reply:
        """The answer to a request. Blocks. ForbiddenError; LargeDocumentError: see :func:`reply_to`."""
        own = urlsplit(request.target).path
        url = self.place.url_at(request.target)
        if not url:
            return self._own(own, request)
        index = indices.of(self.folder)
        url = self._as_recorded(index, url, request)
        try:
            found = self._find(index, url, request)
        except _StreamOverError:
            return Reply(204, HTML, 0, _nothing)
        if found is None and request.destination in FRAMES and (document := self.memory.route(url)):
            found = index.find(document)
        better = self._url_on_host_of_referrer(url, request) if found is None else ""
        if better and self._find(index, better, request, counts=False) is not None:
            return Reply(307, HTML, 0, _nothing, {"location": self.place.address(better)})
        if found is None and request.method not in {"GET", "HEAD"}:
            return _missing()
        asked = RecordedRequest(
            self.place, url, request.may_run, request.range, is_raw=request.destination == "empty", found=found
        )
        return self._changed(request, url, found, reply_to(self.folder, asked, apart=apart))

    def _find(self, index: RecordingIndex, url: str, request: ViewRequest, *, counts: bool = True) -> Recorded | None:
        """The recorded answer; of several to the same request of a script the one whose turn it is."""
        if request.method not in {"GET", "HEAD"}:
            answers = posted(self.folder, index, request.method, url, request.body)
            if not answers:
                return None
        elif request.destination == "empty" and not request.range:
            answers = repeats(index, url)
        else:
            return index.find_frame(url, self.place.frame_at(request.target) if request.destination in FRAMES else 0)
        if not answers:
            return index.find(url)
        is_stream = answers[-1].response.mime == EVENTS
        if not counts or (len(answers) == 1 and not is_stream):
            return answers[0]
        before = self.memory.count(request.document, request.method, url, names_of(request.body).alike)
        if is_stream and before >= len(answers):
            raise _StreamOverError
        return nth_answer(answers, before)

    def _as_recorded(self, index: RecordingIndex, url: str, request: ViewRequest) -> str:
        """The URL under which that was recorded to which scripts now give a fresh name or time; else ``url`` itself."""
        if index.find(url) is not None or index.answers(url, request.method):
            return url
        pattern = fresh_pattern(url, self.place.clock)
        urls = index.urls_like(pattern, request.method) if pattern else []
        if pattern is None or not urls:
            return url
        return urls[min(self.memory.count(request.document, request.method, pattern.pattern), len(urls) - 1)]

    def _url_on_host_of_referrer(self, url: str, request: ViewRequest) -> str:
        """Where ``/x`` means the host of the module or document that names it; empty where that is the page's own."""
        if not url.startswith(f"{self.place.main}/"):
            return ""
        referrer = urlsplit(request.referrer)
        origin = origin_of(self.place.url_at(referrer.path)) if referrer.path.startswith(FOREIGN) else ""
        return f"{origin}{url[len(self.place.main) :]}" if origin else ""

    def _changed(self, request: ViewRequest, url: str, found: Recorded | None, reply: Reply) -> Reply:
        if found is None and reply.status == 404:
            reply.headers[MISSING] = "1"
        elif found is not None and found.response.status in _REDIRECTS:
            reply.status = found.response.status
        if request.destination in WORKERS and reply.status == 200:
            return self._worker(url, reply)
        return reply

    def _worker(self, url: str, reply: Reply) -> Reply:
        """A worker's script, after the shim: workers have no other way to get it, and no import map."""
        try:
            text = reply.read(min(reply.size, WORKER_MOST)).decode("utf-8", "replace")
        finally:
            reply.close()
        strict = '"use strict";' if _STRICT.match(text) else ""
        return whole(_SCRIPT, f"{strict}{self._shim(url)}\n{text}".encode())

    def _shim(self, url: str = "") -> str:
        """The shim; for a worker whose recorded URL is ``url`` it says so itself."""
        page = json.dumps({"url": url, **asdict(self.place)})
        about = f"self.__archivedPage={page};" if url else ""
        return about + _SHIM_FILE.read_text(encoding="utf-8")

    # --- the view's own addresses -------------------------------------------------------------------------------

    def _own(self, path: str, request: ViewRequest) -> Reply:
        query = {name: values[0] for name, values in parse_qs(urlsplit(request.target).query).items()}
        if path == SHIM:
            return whole(_SCRIPT, self._shim(query.get("url", "")).encode())
        if path == f"{FOREIGN}socket":
            return self._socket(query.get("url", ""), request.document)
        if path == f"{FOREIGN}route" and request.method == "POST":
            return self._route(request.body)
        if path == VIOLATIONS and request.method == "POST":
            return Reply(204, HTML, 0, _nothing)
        raise ForbiddenError

    def _socket(self, url: str, document: str) -> Reply:
        sockets = sockets_to(self.folder, url)
        if not sockets:
            return _missing()
        before = self.memory.count(document, "socket", url)
        return whole(_JSON, as_json(sockets[before] if before < len(sockets) else Socket(is_closed=True)))

    def _route(self, body: bytes) -> Reply:
        """A script has given its document another address, at which it is found when it is loaded again."""
        try:
            said = json.loads(body)
            url, document = str(said["url"]), str(said["document"])
        except (ValueError, KeyError, TypeError):
            raise ForbiddenError from None
        if origin_of(url) == origin_of(document):
            self.memory.add_route(url.partition("#")[0], document.partition("#")[0])
        return Reply(204, HTML, 0, _nothing)


class _StreamOverError(Exception):
    """All recorded answers of an event stream were given."""


def _missing() -> Reply:
    reply = whole(HTML, error_page("Not kept with this page", "This was not recorded."), 404)
    reply.headers[MISSING] = "1"
    return reply


def _nothing(_size: int) -> bytes:
    return b""


def page_place(folder: Path, snapshot_id: UUID, url: str) -> ScriptPlace:
    """The place of the page ``url``, recorded in ``folder``. Blocks. ValueError where it is no page of the web.

    The clock is that of the page's own answer; the seed is of the snapshot, so that each view shows the same.
    """
    index = indices.of(folder)
    found = index.find(url)
    time = str(found.response.record.get("time", "")) if found else ""
    seed = snapshot_id.int & 0xFFFFFFFF
    return place_of(url, _milliseconds(time), seed, has_service_worker=index.has_service_worker)


def _milliseconds(time: str) -> int:
    """A WARC-Date in milliseconds since 1970; 0 for what is none."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return 0
    return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)
