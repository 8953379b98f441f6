"""Owns reading outlines of feeds (OPML 1 and 2), as feed readers export them."""

from collections.abc import Iterator

import listparser

from archivebox.lib.links.link import Link, LinkFileError


def read(content: bytes) -> Iterator[Link]:
    """The feeds and pages that it names, tagged with the folders they are in; LinkFileError where it is no outline."""
    outline = listparser.parse(content)
    if not outline.version.startswith("opml"):
        raise LinkFileError(f"is not OPML{f' ({outline.bozo_exception})' if outline.bozo else ''}")
    for entry in (*outline.feeds, *outline.lists, *outline.opportunities):
        yield Link(0, entry.url, " ".join(entry.title.split()), tuple(entry.tags))


def title_of(content: bytes) -> str:
    """What the outline is called; empty where it does not say."""
    return str(listparser.parse(content).meta.get("title", ""))
