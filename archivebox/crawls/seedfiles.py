"""Owns reading seed files: the URLs, titles and tags in what people hand over. Pure, and streaming wherever it can."""

import codecs
import html
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import BinaryIO, TextIO

from selectolax.lexbor import LexborHTMLParser

from archivebox.crawls.feeds import FeedError, read_feed
from archivebox.lib import jsonl
from archivebox.lib.jsonl import JSON

HEAD = 65_536
"""Bytes that are read to tell what kind of file it is."""
LONGEST_LINE = 65_536
"""Characters of a line that are kept; a URL has at most 2,000, a line of JSON a title and tags besides."""
LARGEST_DOCUMENT = 64_000_000
"""Bytes of a file that can only be read as a whole (HTML, a JSON document)."""


class Parser(StrEnum):
    """How a file is read."""

    AUTO = "auto"
    URL_LIST = "url_list"
    TXT = "txt"
    HTML = "html"
    RSS = "rss"
    NETSCAPE = "netscape"
    JSONL = "jsonl"


class SeedFileError(ValueError):
    """A file that cannot be read this way; the message goes on from the file's name: "holds no text"."""


@dataclass(frozen=True, slots=True)
class GivenUrl:
    """One entry of a file. ``problem`` says why there is no URL in it; ``line`` is 0 where no line is known."""

    line: int
    url: str
    title: str = ""
    tags: tuple[str, ...] = ()
    problem: str = ""


def read_seeds(file: BinaryIO, parser: Parser = Parser.AUTO) -> Iterator[GivenUrl]:
    """The entries of a seekable file in order. SeedFileError for what cannot be read that way."""
    head = file.read(HEAD)
    file.seek(0)
    encoding = _encoding(head)
    kind = detect(head) if parser is Parser.AUTO else parser
    if kind is Parser.RSS:
        yield from _read_feed(file)
        return
    text = io.TextIOWrapper(file, encoding, errors="replace")
    try:
        yield from _READERS[kind](text)
    finally:
        text.detach()


def _encoding(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig"


# --- which kind it is -----------------------------------------------------------------------------------------

_FEED = re.compile(r"<(rss|feed|rdf:RDF)[\s>]")
_HTML = re.compile(r"<(!doctype html|html|head|body|a\s[^>]*href)", re.IGNORECASE)
_JSON_START = re.compile(r"\s*(\{|\[\s*[\[{\"\]])")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def detect(head: bytes) -> Parser:
    """What kind of file begins with ``head``; SeedFileError if it is no text at all."""
    encoding = _encoding(head)
    if b"\0" in head and encoding != "utf-16" and _is_binary(head):
        raise SeedFileError("holds no text, but bytes of some other kind. Give a list of URLs, one a line")
    text = head.decode(encoding, "replace").lstrip()
    if text[:100].upper().startswith("<!DOCTYPE NETSCAPE"):
        return Parser.NETSCAPE
    if text.startswith("<"):
        if _FEED.search(text):
            return Parser.RSS
        return Parser.HTML if _HTML.search(text) else Parser.TXT
    if _JSON_START.match(text):
        return Parser.JSONL
    return Parser.URL_LIST if _is_list(text.splitlines()) else Parser.TXT


def _is_binary(head: bytes) -> bool:
    """A stray NUL is one bad line among good ones; archives, pictures and databases are full of them."""
    return head.count(b"\0") > max(3, len(head) // 200)


def _is_list(lines: list[str]) -> bool:
    """Whether most lines could be URLs: wrong ones among them are then reported, not passed over as prose."""
    content = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    alone = [line for line in content if not re.search(r"\s", line) and (_SCHEME.match(line) or "://" not in line)]
    return 2 * len(alone) >= len(content)


# --- lists and text -------------------------------------------------------------------------------------------


def _lines(text: TextIO) -> Iterator[tuple[int, str]]:
    """Numbered lines, each cut at LONGEST_LINE; what is beyond is read in pieces and let go."""
    number = 0
    while line := text.readline(LONGEST_LINE):
        number += 1
        yield number, line.rstrip("\r\n")
        while not line.endswith("\n"):
            line = text.readline(LONGEST_LINE)
            if not line:
                return


def _read_url_list(text: TextIO) -> Iterator[GivenUrl]:
    for number, line in _lines(text):
        stripped = line.strip(" \t\f")
        if stripped and not stripped.startswith("#"):
            yield GivenUrl(number, stripped)


_URL = re.compile(r"https?://[^\s<>\"'`{}|\\^\u201c\u201d\u00ab\u00bb\x00-\x1f]+", re.IGNORECASE)
_CLOSING = {")": "(", "]": "["}
_LONGEST_URL = 2_001
"""One more than a URL may have, so that a longer one is refused and not cut."""


def _read_txt(text: TextIO) -> Iterator[GivenUrl]:
    """Every http and https URL inside any text, read in pieces that never cut one in two."""
    number, rest = 1, ""
    while piece := text.readline(LONGEST_LINE):
        ended = piece.endswith("\n")
        line = rest + piece
        rest = "" if ended else _unfinished(line)
        whole = line[: len(line) - len(rest)]
        for found in _URL.finditer(whole):
            yield GivenUrl(number, trimmed(found.group()))
        number += ended
    yield from (GivenUrl(number, trimmed(found.group())) for found in _URL.finditer(rest))


def _unfinished(line: str) -> str:
    """The end of a piece that the next one may go on with."""
    tail = line[-_LONGEST_URL:]
    last_space = max(tail.rfind(" "), tail.rfind("\t"))
    return tail[last_space + 1 :]


def trimmed(url: str) -> str:
    """``url`` without the punctuation of the sentence around it; brackets that belong to it stay."""
    while 0 < len(url) < _LONGEST_URL:
        last = url[-1]
        if last in ".,;:!?*" or (last in _CLOSING and url.count(last) > url.count(_CLOSING[last])):
            url = url[:-1]
        elif "](" in url:  # [text](address) of Markdown whose text is an address itself
            url = url.partition("](")[0]
        else:
            break
    return url


# --- bookmarks, pages, feeds ----------------------------------------------------------------------------------

_BOOKMARK = re.compile(r"<a\s([^<>]*)>(.*?)(?:</a>|$)", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([a-z_-]+)\s*=\s*\"([^\"]*)\"", re.IGNORECASE)


def _read_netscape(text: TextIO) -> Iterator[GivenUrl]:
    """Bookmarks as browsers export them: one ``<A HREF TAGS>`` a line."""
    for number, line in _lines(text):
        for found in _BOOKMARK.finditer(line):
            attributes = {name.lower(): html.unescape(value) for name, value in _ATTRIBUTE.findall(found[1])}
            title = html.unescape(re.sub(r"<[^>]*>", "", found[2])).strip()
            yield GivenUrl(number, attributes.get("href", ""), title, _words(attributes.get("tags", "")))


def _read_html(text: TextIO) -> Iterator[GivenUrl]:
    """The http and https links of a page; relative ones have no address of their own and are passed over."""
    document = LexborHTMLParser(_whole(text))
    for link in document.css("a[href]"):
        address = (link.attributes.get("href") or "").strip()
        if re.match(r"https?:", address, re.IGNORECASE):
            yield GivenUrl(0, address, " ".join(link.text().split()))


def _read_feed(file: BinaryIO) -> Iterator[GivenUrl]:
    try:
        for entry in read_feed(file):
            yield GivenUrl(entry.line, entry.url, entry.title, entry.tags)
    except FeedError as error:
        raise SeedFileError(f"{error}. --parser txt takes the URLs out of any text") from None


def _whole(text: TextIO) -> str:
    content = text.read(LARGEST_DOCUMENT + 1)
    if len(content) > LARGEST_DOCUMENT:
        raise SeedFileError(
            f"has more than {LARGEST_DOCUMENT // 1_000_000} MB, which is too much to read as one document. "
            "--parser txt takes the URLs out of any text, of any size"
        )
    return content


# --- JSON -----------------------------------------------------------------------------------------------------


def _read_jsonl(text: TextIO) -> Iterator[GivenUrl]:
    """One object a line; else the whole file as one document: a list of them, or a JSON feed."""
    lines = _lines(text)
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        return
    if jsonl.loads(first[1]) is None and first[1].lstrip()[:1] in ("[", "{"):
        text.seek(0)
        yield from _read_json_document(text)
        return
    for number, line in chain([first], lines):
        if line.strip():
            yield _entry(number, jsonl.loads(line))


def _read_json_document(text: TextIO) -> Iterator[GivenUrl]:
    try:
        document: JSON = json.loads(_whole(text))
    except RecursionError:
        raise SeedFileError("is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise SeedFileError(
            f"is no JSON at line {error.lineno} ({error.msg}). Give one object a line, such as "
            '{"url": "https://example.com/", "title": "…", "tags": ["…"]}'
        ) from None
    if isinstance(document, dict):
        document = document.get("items", [document])
    for item in document if isinstance(document, list) else []:
        yield _entry(0, item if isinstance(item, dict) else {"url": item})


_URL_KEYS = ("url", "href", "link", "uri")


def _entry(number: int, record: dict[str, JSON] | None) -> GivenUrl:
    if record is None:
        return GivenUrl(number, "", problem="it is no JSON object")
    url = next((value for key in _URL_KEYS if isinstance(value := record.get(key), str)), None)
    if url is None:
        return GivenUrl(number, "", problem='it names no "url"')
    title = next((value for key in ("title", "description") if isinstance(value := record.get(key), str)), "")
    return GivenUrl(number, url, " ".join(title.split()), _tags(record.get("tags")))


def _tags(value: JSON) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(str(item) for item in value if isinstance(item, str | int))
    return _words(value) if isinstance(value, str) else ()


def _words(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := " ".join(part.split())))


_READERS: dict[Parser, Callable[[TextIO], Iterator[GivenUrl]]] = {
    Parser.URL_LIST: _read_url_list,
    Parser.TXT: _read_txt,
    Parser.HTML: _read_html,
    Parser.NETSCAPE: _read_netscape,
    Parser.JSONL: _read_jsonl,
}
