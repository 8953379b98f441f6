"""Owns reading Markdown (CommonMark): its links with their words, and URLs that stand in it as they are."""

from collections.abc import Iterator
from typing import BinaryIO

from markdown_it import MarkdownIt
from markdown_it.token import Token

from archivebox.lib.links.link import Link
from archivebox.lib.links.text import urls_in, whole_text


def read(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """Links in order, those by reference too; a block has the line on which it begins. Code is no place for links."""
    for block in MarkdownIt("commonmark").parse(whole_text(file)):
        line = block.map[0] + 1 if block.map else 0
        yield from _links(line, block.children or [])


def _links(line: int, tokens: list[Token]) -> Iterator[Link]:
    url, title = "", ""
    for token in tokens:
        if token.type == "link_open":
            url, title = str(token.attrs.get("href", "")), ""
        elif token.type == "link_close":
            yield Link(line, url, "" if title == url else " ".join(title.split()))
            url = ""
        elif url:
            title += token.content
        elif token.type == "text":
            yield from (Link(line, found) for found in urls_in(token.content))
