"""Owns which encoding archived text is in, as browsers decide it (HTML 13.2.3.2, CSS Syntax 3, 3.2)."""

import webencodings

from archivebox.lib.charsets import declared_in_css, declared_in_html
from archivebox.lib.mime_sniffing import parse_content_type


def decode(data: bytes, content_type: str) -> str:
    """The text of a document: by its byte order mark, else as its type says, else as it says itself, else what it can
    be.
    """
    return _text(data, content_type, declared_in_html(data), "")


def decode_style(data: bytes, content_type: str, inherited: str = "") -> str:
    """The text of a style sheet; ``inherited``: the encoding of the document that uses it."""
    return _text(data, content_type, declared_in_css(data), inherited)


def _name_of(label: str) -> str:
    """The name of the encoding with this label (Encoding 4.2); empty where there is none."""
    encoding = webencodings.lookup(label) if label.isascii() else None
    return str(encoding.name) if encoding else ""


def _text(data: bytes, content_type: str, declared: str, inherited: str) -> str:
    name = _name_of(parse_content_type(content_type).charset)
    if not name and (name := _name_of(declared)).startswith("utf-16"):
        name = "utf-8"  # what was read as ASCII so far is not UTF-16
    text, _ = webencodings.decode(data, name or _name_of(inherited) or _guess_encoding(data))
    return str(text)


def _guess_encoding(data: bytes) -> str:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"
