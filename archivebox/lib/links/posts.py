"""Owns reading bookmarks as Pinboard's XML has them, which is that of the first API of Delicious."""

from collections.abc import Iterator
from typing import BinaryIO
from xml.etree import ElementTree as ET

from archivebox.lib.links.dates import iso
from archivebox.lib.links.link import Link, LinkFileError
from archivebox.lib.links.tags import TO_READ, joined
from archivebox.lib.links.text import whole
from archivebox.lib.links.xml import root_of


def read(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """One ``<post href description tag time toread>`` each; LinkFileError for anything but ``<posts>`` in XML."""
    root = root_of(whole(file))
    if root.tag != "posts":
        raise LinkFileError("holds no posts of Pinboard or Delicious")
    yield from (_link(post) for post in root.iter("post"))


def _link(post: ET.Element) -> Link:
    url, title = post.get("href", ""), " ".join(post.get("description", "").split())
    tags = joined(tuple(post.get("tag", "").split()), (TO_READ,) if post.get("toread") == "yes" else ())
    return Link(0, url, title, tags, "" if url else "it has no href", iso(post.get("time", "")))
