"""Owns which recorded answer a script gets: by method, URL and body of its request, and by how often it has asked.

Bodies are the same in any order of the keys of JSON or the fields of a form, and whatever stands where a program puts a
time or a random name.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from archivebox.lib import jsonl
from archivebox.lib.jsonl import JSON
from archivebox.replay.index import RANDOM, Location, Recorded, RecordingIndex, read_request_body

BODY_MOST = 1 << 20
"""Bytes of a request's body that are recorded and compared."""
_BOUNDARY = re.compile(rb"\A--([^\r\n]+)")
_NAMES_REMEMBERED = 2000
"""Recorded requests whose bodies are not read again."""


class BodyNames(NamedTuple):
    """What a body is known by: exactly, and without what is random in it."""

    exact: str
    alike: str


def repeats(index: RecordingIndex, url: str) -> Sequence[Recorded]:
    """All whole answers to GET requests of scripts for ``url``, in the order of the requests; else to those of the
    browser itself.
    """
    answers = [one for one in index.answers(url) if one.response.status not in {206, 304}]
    return [one for one in answers if one.response.record.get("type") != "Document"] or answers


def posted(folder: Path, index: RecordingIndex, method: str, url: str, body: bytes) -> Sequence[Recorded]:
    """All answers to such requests with this body, else with one that differs in what is random. Blocks."""
    asked = names_of(body)
    recorded = [(one, _recorded_names(folder, one.head)) for one in index.answers(url, method)]
    same = [one for one, names in recorded if names.exact == asked.exact]
    return same or [one for one, names in recorded if names.alike == asked.alike]


@lru_cache(_NAMES_REMEMBERED)
def _recorded_names(folder: Path, answer: Location) -> BodyNames:
    return names_of(read_request_body(folder, answer, BODY_MOST))


def nth_answer(answers: Sequence[Recorded], before: int) -> Recorded:
    """The answer for who has had ``before`` of them; the last one for ever after."""
    return answers[min(before, len(answers) - 1)]


def names_of(body: bytes) -> BodyNames:
    exact = _canonical(body)
    return BodyNames(_digest(exact), _digest(RANDOM.sub("*", exact)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _canonical(body: bytes) -> str:
    text = body.decode("utf-8", "backslashreplace")
    start = text.lstrip()[:1]
    if start in {"{", "["}:
        try:
            return json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)
        except (ValueError, RecursionError):
            return _lines_of(text)
    if boundary := _BOUNDARY.match(body):
        return text.replace(boundary[1].decode("utf-8", "backslashreplace"), "boundary")
    if "=" in text and not re.search(r"\s", text):
        return json.dumps(sorted(parse_qsl(text, keep_blank_values=True)), ensure_ascii=False)
    return text


def _lines_of(text: str) -> str:
    """JSON lines, each in the order of its keys; the text where it is none."""
    try:
        lines: Iterable[JSON] = [json.loads(line) for line in text.splitlines() if line.strip()]
        return "\n".join(json.dumps(line, sort_keys=True, ensure_ascii=False) for line in lines)
    except (ValueError, RecursionError):
        return text


FILE = "responses/sockets.jsonl"
"""What the recorder writes, a line a message; relative to a snapshot's folder."""


@dataclass
class Socket:
    """One recorded connection. Each message is ``[way, kind, data]``: sent or received; text or base64."""

    messages: list[JSON] = field(default_factory=list)
    is_closed: bool = False


def sockets_to(folder: Path, url: str) -> list[Socket]:
    """The connections to a URL, in the order in which they were opened. Blocks.

    Without the ``socket`` by which the recorder tells two to the same URL apart, a message is the latest one's.
    """
    path = folder / FILE
    found: dict[str, Socket] = {}
    lines: Iterable[dict[str, JSON]] = jsonl.read(path) if path.is_file() else ()
    opened = 0
    for line in lines:
        if _plain(str(line.get("url", ""))) != _plain(url):
            continue
        event = line.get("event")
        opened += event == "opened"
        socket = found.setdefault(str(line.get("socket") or opened), Socket())
        if event in {"sent", "received"}:
            kind = "text" if "text" in line else "base64"
            socket.messages.append([event, kind, line.get(kind, "")])
        socket.is_closed |= event == "closed"
    return list(found.values())


def _plain(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.netloc.lower()}{parts.path or '/'}?{parts.query}"


def as_json(socket: Socket) -> bytes:
    """What the shim reads."""
    return json.dumps({"messages": socket.messages, "closed": socket.is_closed}).encode()
