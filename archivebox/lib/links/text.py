"""Owns reading plain text: lists of URLs, one a line, and URLs inside of prose."""

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, TextIO

from archivebox.lib.links.link import LARGEST_DOCUMENT, Link, LinkFileError
from archivebox.lib.urls import MAX_LENGTH

LONGEST_LINE = 65_536
"""Characters of a line that are kept; a URL has at most 8,000, a line of JSON a title and tags besides."""
_LONGEST_URL = MAX_LENGTH + 1
"""One more than a URL may have, so that a longer one is refused and not cut."""
URL = re.compile(r"https?://[^\s<>\"'`{}|\\^\u201c\u201d\u00ab\u00bb\x00-\x1f]+", re.IGNORECASE)
_CLOSING = {")": "(", "]": "["}


def encoding_of(head: bytes) -> str:
    """By its byte order mark, else UTF-8."""
    return "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


@contextmanager
def decoded(file: BinaryIO) -> Iterator[TextIO]:
    """A seekable file as text; it stays open."""
    head = file.read(2)
    file.seek(0)
    text = io.TextIOWrapper(file, encoding_of(head), errors="replace", newline=None)
    try:
        yield text
    finally:
        text.detach()


def whole(file: BinaryIO) -> bytes:
    """All of a file that has to be in memory; LinkFileError where it is too large for that."""
    content = file.read(LARGEST_DOCUMENT + 1)
    if len(content) > LARGEST_DOCUMENT:
        raise LinkFileError(f"has more than {LARGEST_DOCUMENT // 1_000_000} MB, too much to read as one document")
    return content


def whole_text(file: BinaryIO) -> str:
    """The same as text."""
    content = whole(file)
    return content.decode(encoding_of(content), "replace")


def lines(text: TextIO) -> Iterator[tuple[int, str]]:
    """Numbered lines, each cut at LONGEST_LINE; what is beyond is read in pieces and let go."""
    number = 0
    while line := text.readline(LONGEST_LINE):
        number += 1
        yield number, line.rstrip("\r\n")
        while not line.endswith("\n"):
            line = text.readline(LONGEST_LINE)
            if not line:
                return


def read_list(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """One URL a line, or a sentence with some in it; # begins a comment."""
    with decoded(file) as text:
        for number, line in lines(text):
            stripped = line.strip(" \t\f")
            if stripped and not stripped.startswith("#"):
                yield from (Link(number, url) for url in _urls_in(stripped))


def _urls_in(line: str) -> Iterator[str]:
    """The URLs of a sentence, or of several in a line, else the line as it is.

    What begins as a URL, and is the only one of its line, may have spaces in it; it is reported whole where it is none.
    """
    first, *more = line.split(maxsplit=1)
    is_sentence = more and ("://" not in first or URL.search(more[0]))
    yield from (list(urls_in(line)) if is_sentence else []) or [line]


def read_prose(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """Every http and https URL inside any text, read in pieces that never cut one in two."""
    with decoded(file) as text:
        number, rest = 1, ""
        while piece := text.readline(LONGEST_LINE):
            ended = piece.endswith("\n")
            line = rest + piece
            rest = "" if ended else _unfinished(line)
            yield from (Link(number, url) for url in urls_in(line[: len(line) - len(rest)]))
            number += ended
        yield from (Link(number, url) for url in urls_in(rest))


def urls_in(text: str) -> Iterator[str]:
    """The http and https URLs in a text, without the punctuation around them."""
    return (trimmed(found.group()) for found in URL.finditer(text))


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
