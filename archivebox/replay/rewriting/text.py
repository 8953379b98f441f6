"""Owns which encoding archived text is in, as browsers decide it (HTML 13.2.3.2, CSS Syntax 3, 3.2)."""

import re

import webencodings

_PRESCAN = 1024
"""Bytes in which a declaration must stand."""
_IN_HTML = re.compile(rb"""<meta[^>]*?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.IGNORECASE)
_IN_CSS = re.compile(rb'@charset "([A-Za-z0-9_.:-]+)";')
_IN_TYPE = re.compile(r"""charset\s*+=\s*+["']?\s*+([A-Za-z0-9_.:-]+)""", re.IGNORECASE)


def decode(data: bytes, content_type: str) -> str:
    """The text: by its byte order mark, else as the header says, else as it says itself, else what it can be."""
    named = _named(data, content_type)
    text, _ = webencodings.decode(data, named or _guessed(data))
    return str(text)


def _named(data: bytes, content_type: str) -> webencodings.Encoding | None:
    said = _IN_TYPE.search(content_type)
    encoding = webencodings.lookup(said[1]) if said else None
    if encoding is not None:
        return encoding
    start = data[:_PRESCAN]
    declared = _IN_HTML.search(start) or _IN_CSS.match(start)
    encoding = webencodings.lookup(declared[1].decode("ascii")) if declared else None
    # What was read as ASCII so far is no UTF-16.
    return webencodings.UTF8 if encoding is not None and encoding.name.startswith("utf-16") else encoding


def _guessed(data: bytes) -> str:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"
