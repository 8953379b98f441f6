"""Owns which media type a browser takes an answer for: what its Content-Type says, else its first bytes.

MIME Sniffing (https://mimesniff.spec.whatwg.org) and Fetch, "extract a MIME type", but where Chromium is more lenient
than they are (net/http/http_util.cc, ParseContentType): a type ends at a blank, a semicolon or a parenthesis, too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

HEAD = 1445
"""Bytes of a resource header (section 5.2)."""
_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_ESSENCE = re.compile(rf"{_NAME}/{_NAME}")
_NAMED = re.compile(r"[ \t\r\n]*([^ \t\r\n;(]*)")
_PART = re.compile(r"""(?:[^",]|"(?:[^"\\]|\\.)*+"?)++""", re.DOTALL)
"""What stands between commas that are in no quotes (Fetch, "get, decode, and split")."""
_PARAMETER = re.compile(r""";[ \t\r\n]*([^;=]*)=[ \t\r\n]*(?:"((?:[^"\\]|\\.)*+)"?|([^;]*))""", re.DOTALL)
_UNKNOWN = frozenset({"unknown/unknown", "application/unknown", "*/*"})
_XML = re.compile(r"(?:text|application)/xml|text/xsl|.+\+xml")
_JAVASCRIPT = re.compile(
    r"(?:text|application)/(?:x-)?(?:java|ecma)script|text/(?:javascript1\.[0-5]|jscript|livescript)"
)
_NO_SCRIPT = re.compile(r"(?:image|audio|video)/.*|text/csv")
"""Types that are run as scripts by nobody (Fetch, 2.9, "should response be blocked due to its MIME type")."""
_JSON = re.compile(r"(?:text|application)/json|.+\+json")
_JSON_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?[\t\n\r ]*[\[{\"0-9-]")
_TAG = re.compile(
    rb"[\t\n\x0c\r ]*<(?:!DOCTYPE HTML|HTML|HEAD|SCRIPT|IFRAME|H1|DIV|FONT|TABLE|A|STYLE|TITLE|B|BODY|BR|P|!--)[ >]",
    re.IGNORECASE,
)
_SIGNATURES = (
    (re.compile(rb"[\t\n\x0c\r ]*<\?xml"), "text/xml"),
    (re.compile(rb"%PDF-"), "application/pdf"),
    (re.compile(rb"%!PS-Adobe-"), "application/postscript"),
    (re.compile(rb"\xfe\xff|\xff\xfe|\xef\xbb\xbf"), "text/plain"),
    (re.compile(rb"\x00\x00[\x01\x02]\x00"), "image/x-icon"),
    (re.compile(rb"BM"), "image/bmp"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBPVP", re.DOTALL), "image/webp"),
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"....ftypavi[fs]", re.DOTALL), "image/avif"),
    (re.compile(rb"....ftyp", re.DOTALL), "video/mp4"),
    (re.compile(rb"\x1aE\xdf\xa3"), "video/webm"),
    (re.compile(rb"OggS\x00"), "application/ogg"),
    (re.compile(rb"ID3|\xff[\xfb\xf3\xf2]"), "audio/mpeg"),
    (re.compile(rb"RIFF....WAVE", re.DOTALL), "audio/wave"),
    (re.compile(rb"wOFF"), "font/woff"),
    (re.compile(rb"wOF2"), "font/woff2"),
    (re.compile(rb"\x1f\x8b\x08"), "application/x-gzip"),
    (re.compile(rb"PK\x03\x04"), "application/zip"),
)
"""What resources of known types begin with (sections 6 and 7.1)."""
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


class MediaType(NamedTuple):
    """``essence``: type and subtype in lower case, empty where none is named; ``charset``: its label, or empty."""

    essence: str
    charset: str = ""

    def __str__(self) -> str:
        return f"{self.essence}; charset={self.charset}" if self.charset else self.essence


def parse_content_type(value: str) -> MediaType:
    """What a Content-Type says: the last type that is one, and a charset that was named with it."""
    found = MediaType("")
    for part in _PART.findall(value):
        essence = _essence(part)
        if essence and essence not in _UNKNOWN:
            charset = _charset(part) or (found.charset if essence == found.essence else "")
            found = MediaType(essence, charset)
    return found


def sniff_type(head: bytes) -> str:
    """The type of bytes that nothing is said of (section 7.1)."""
    if _TAG.match(head):
        return "text/html"
    named = next((mimetype for signature, mimetype in _SIGNATURES if signature.match(head)), "")
    return named or ("application/octet-stream" if _BINARY.search(head) else "text/plain")


def type_in_use(declared: str, head: bytes, *, use: str, nosniff: bool) -> str:
    """The type that a browser treats an answer as, which was declared as ``declared`` (an essence, or empty).

    ``use``: what it was loaded for, as DevTools names it (Document, Stylesheet, Script, Image, …). A style sheet and
    JSON that a script imports are Scripts there; what only is declared as JSON, a function's call, runs.
    """
    is_module = declared == "text/css" or (is_json_type(declared) and _JSON_BEGINNING.match(head))
    if use == "Script" and not nosniff and not is_module and not _NO_SCRIPT.fullmatch(declared):
        return declared if _JAVASCRIPT.fullmatch(declared) else "text/javascript"
    if use == "Stylesheet" and not declared:
        return "text/css"
    return declared or sniff_type(head)


def is_xml_type(essence: str) -> bool:
    """Whether browsers take a type for XML."""
    return _XML.fullmatch(essence) is not None


def is_javascript_type(essence: str) -> bool:
    """Whether browsers take a type for JavaScript."""
    return _JAVASCRIPT.fullmatch(essence) is not None


def is_json_type(essence: str) -> bool:
    """Whether browsers take a type for JSON."""
    return _JSON.fullmatch(essence) is not None


def _essence(part: str) -> str:
    named = _NAMED.match(part)
    essence = named[1].lower() if named else ""
    return essence if _ESSENCE.fullmatch(essence) else ""


def _charset(part: str) -> str:
    for name, quoted, plain in _PARAMETER.findall(part):
        if name.lower() == "charset" and (value := re.sub(r"\\(.)", r"\1", quoted) or plain.strip(" \t\r\n'")):
            return str(value)
    return ""


# Addresses at whose end is a file nearly always; with a colon in the name it is a page of a wiki about one.
FILE_URL = (
    r"(?i)^https?://[^/?#]+/([^?#]*/)?[^/?#:]+\.(pdf|epub|djvu|zip|t?gz|bz2|xz|7z|rar|tar|iso|png|jpe?g|gif|webp|avif|bmp"
    r"|tiff?|mp3|m4a|og[ag]|opus|flac|wav|mp4|m4v|webm|mov|mkv|avi|docx?|xlsx?|pptx?|od[tsp])([?#]|$)"
)


def is_file_url(url: str) -> bool:
    """Say whether a URL looks as if a file were there, and not a page."""
    return re.match(FILE_URL, url) is not None
