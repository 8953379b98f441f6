"""Owns which bodies of requests are taken for the same: JSON in any order of its keys, forms in any order of their
fields, and all of them whatever stands where a program puts a time or a random name.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import parse_qsl

from archivebox.lib.jsonl import JSON
from archivebox.replay.matching import RANDOM

BODY_MOST = 1 << 20
"""Bytes of a request's body that are recorded and compared."""
_BOUNDARY = re.compile(rb"\A--([^\r\n]+)")


class BodyNames(NamedTuple):
    """What a body is known by: exactly, and without what is random in it."""

    exact: str
    alike: str


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
