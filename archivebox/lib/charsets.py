"""Owns which charset HTML and CSS say they are written in (HTML 13.2.3.2, CSS Syntax 3, 3.2), and what reads it."""

import codecs
import html
import re
from urllib.parse import urljoin

PRESCAN = 1024
"""Bytes in which a declaration counts wherever it stands."""
_HEAD_MOST = 256 * 1024
"""Bytes of a document's head that are looked at: Chromium goes on to the head's end (HTMLMetaCharsetParser)."""
_OF_HEAD = frozenset(
    {b"script", b"noscript", b"style", b"link", b"meta", b"object", b"title", b"base", b"html", b"head"}
)
_TAG = re.compile(
    rb"""<!--(?:-?>|.*?-->|.*\Z)
    |<(?P<raw>script|style|title|textarea|xmp)\b(?:[^>"']|"[^"]*"|'[^']*')*+>.*?(?=</(?P=raw)|\Z)
    |<(?P<end>/?)(?P<name>[a-z][^\s/>]*+)(?P<attributes>(?:[^>"']|"[^"]*"|'[^']*')*+)>?""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_ATTRIBUTE = re.compile(rb"""([^\s/=>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']*)))?""")
_CHARSET = re.compile(rb"""charset\s*+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s;"']+))""", re.IGNORECASE)
_IN_XML = re.compile(rb"""<\?xml\s[^>]*?\bencoding\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_IN_CSS = re.compile(rb'@charset "([^"]*)";')
_CODECS = frozenset(
    {"utf-8", "utf-16", "utf-16-le", "utf-16-be", "cp866", "cp874", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic"}
    | {"gb18030", "big5hkscs", "euc_jp", "iso2022_jp", "cp932", "cp949"}
    | {f"cp125{number}" for number in range(9)}
    | {f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)}
)
"""Codecs of Python that the web has; it has others by which data becomes no text."""
_ON_THE_WEB = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
"""Codecs whose labels mean their superset there."""
_LABELS = {
    "windows-31j": "cp932",
    "windows-874": "cp874",
    "gb_2312-80": "gb18030",
    "iso-8859-8-i": "iso8859-8",
    "unicode-1-1-utf-8": "utf-8",
}
"""Labels that Python does not know."""


_FILE = re.compile(
    rb"""<!--(?:-?>|.*?-->|.*\Z)
    |<(?P<name>script|link|base)\b(?P<attributes>(?:[^>"']|"[^"]*"|'[^']*')*+)>""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


def codec_of(label: str) -> str | None:
    """Python's codec for a label (Encoding 4.2); None where there is none."""
    label = label.strip().lower()
    for name in (_LABELS.get(label, label), label.removeprefix("x-")):
        try:
            codec = codecs.lookup(name).name
        except (LookupError, ValueError):  # a label may hold a NUL
            continue
        codec = _ON_THE_WEB.get(codec, codec)
        if codec in _CODECS:
            return codec
    return None


def declared_in_html(data: bytes) -> str:
    """The label that the first ``<meta>`` with one gives, else that of an XML declaration; empty where none does."""
    for tag in _TAG.finditer(data[:_HEAD_MOST]):
        name = tag["name"]
        if name is None:
            continue
        is_head = name.lower() in _OF_HEAD and not (tag["end"] and name.lower() == b"head")
        if name.lower() == b"meta" and not tag["end"] and (label := _label_of_meta(tag["attributes"])):
            return label
        if not is_head and tag.end() >= PRESCAN:
            break
    found = _IN_XML.match(data[:PRESCAN])
    return (found[1] or found[2] or b"").decode("latin-1").strip() if found else ""


def declared_of_files(data: bytes, url: str) -> dict[str, str]:
    """What ``charset`` of ``<script>`` and ``<link>`` in the document at ``url`` says of each file, by its URL
    (HTML 4.12.1.1).
    """
    found: dict[str, str] = {}
    base = url
    for tag in _FILE.finditer(data) if b"charset" in data.lower() else ():
        if tag["name"] is not None:
            attributes = _attributes(tag["attributes"])
            named = _joined(base, attributes.get(b"src" if tag["name"].lower() == b"script" else b"href", b""))
            label = attributes.get(b"charset", b"").decode("latin-1").strip()
            if tag["name"].lower() == b"base" and base == url:
                base = named or base
            elif named and codec_of(label):
                found.setdefault(named, label)
    return found


def declared_in_css(data: bytes) -> str:
    """The label in ``@charset``, which has to be the first thing, written just so."""
    found = _IN_CSS.match(data[:PRESCAN])
    return found[1].decode("latin-1").strip() if found else ""


def _label_of_meta(text: bytes) -> str:
    attributes = _attributes(text)
    label = attributes.get(b"charset", b"").strip()
    if not label and attributes.get(b"http-equiv", b"").strip().lower() == b"content-type":
        named = _CHARSET.search(attributes.get(b"content", b""))
        label = b"".join(each or b"" for each in named.groups()) if named else b""
    return label.decode("latin-1").strip()


def _joined(base: str, address: bytes) -> str:
    """The URL that an attribute names; empty where it names none."""
    text = html.unescape(address.decode("utf-8", "replace")).strip()
    try:
        return urljoin(base, text) if text else ""
    except ValueError:
        return ""


def _attributes(text: bytes) -> dict[bytes, bytes]:
    attributes: dict[bytes, bytes] = {}
    for name, *values in _ATTRIBUTE.findall(text):
        attributes.setdefault(name.lower(), b"".join(values))
    return attributes
