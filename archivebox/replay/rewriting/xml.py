"""Owns what XML a browser draws: whether it is XHTML, or connects elsewhere, as no Content-Security-Policy forbids."""

import re
from contextlib import suppress
from xml.parsers import expat

_HTML = "http://www.w3.org/1999/xhtml"
_CONNECTING = frozenset(f"{_HTML} {name}" for name in ("base", "link", "meta"))
_BEGINNING = 64 * 1024
"""Bytes in which the first element begins."""
_MAY = re.compile(rb"xhtml|&#|<!ENTITY|\0")
"""The namespace of HTML, or how else it could be written."""


class _FoundError(Exception):
    """The element that was looked for, or one that shows that there is none."""


def connects(data: bytes) -> bool:
    """Whether elements of HTML stand in it by which a browser connects (``<link rel=preconnect>``).

    Also of what could hold some and is not XML: browsers pass over mistakes that others do not.
    """
    if not _MAY.search(data):
        return False
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = _begin
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, _FoundError):
        return True
    return False


def _begin(name: str, _attributes: dict[str, str]) -> None:
    if name in _CONNECTING:
        raise _FoundError


def is_xhtml(data: bytes) -> bool:
    """Whether the first element is that of an HTML document."""
    root: list[str] = []

    def begin(name: str, _attributes: dict[str, str]) -> None:
        root.append(name)
        raise _FoundError

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = begin
    with suppress(expat.ExpatError, _FoundError):
        parser.Parse(data[:_BEGINNING])
    return root == [f"{_HTML} html"]
