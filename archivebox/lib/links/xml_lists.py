"""Owns reading lists that are XML: sitemaps (sitemaps.org, protocol 0.9), and bookmarks as Pinboard's XML has them."""

import gzip
import zlib
from collections.abc import Iterator
from typing import BinaryIO
from xml.etree import ElementTree as ET

from archivebox.lib.links.dates import iso
from archivebox.lib.links.link import LARGEST_DOCUMENT, TO_READ, Link, LinkFileError, joined
from archivebox.lib.links.text import whole


def refuse_entities(content: bytes) -> None:
    """LinkFileError for a document that declares entities."""
    if b"<!ENTITY" in content:
        raise LinkFileError("declares XML entities, which may blow up or read files, and is refused")


def root_of(content: bytes) -> ET.Element:
    """The root element; LinkFileError where it is not XML, or declares entities."""
    refuse_entities(content)
    try:
        return ET.fromstring(content)  # noqa: S314 - without entities there is nothing to expand or to fetch
    except (ET.ParseError, LookupError, ValueError) as error:
        raise LinkFileError(f"is not XML ({error})") from None


_PACKED = b"\x1f\x8b"
_ENTRIES = ("url", "sitemap")


def read_sitemap(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """Each ``<loc>`` with its ``<lastmod>``; LinkFileError where it is no sitemap."""
    root = root_of(_unpacked(file))
    if _local_name(root) not in ("urlset", "sitemapindex"):
        raise LinkFileError("is not a sitemap")
    yield from (_sitemap_entry(entry) for entry in root if _local_name(entry) in _ENTRIES)


def _unpacked(file: BinaryIO) -> bytes:
    packed = file.read(len(_PACKED)) == _PACKED
    file.seek(0)
    if not packed:
        return whole(file)
    try:
        with gzip.GzipFile(fileobj=file) as unpacked:
            content = unpacked.read(LARGEST_DOCUMENT + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise LinkFileError(f"cannot be unpacked ({error})") from None
    if len(content) > LARGEST_DOCUMENT:
        raise LinkFileError(f"has more than {LARGEST_DOCUMENT // 1_000_000} MB")
    return content


def _sitemap_entry(entry: ET.Element) -> Link:
    said = {_local_name(child): (child.text or "").strip() for child in entry}
    return Link(
        0, said.get("loc", ""), date=iso(said.get("lastmod", "")), problem="" if said.get("loc") else "no <loc>"
    )


def _local_name(element: ET.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def read_posts(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """One ``<post href description tag time toread>`` each; LinkFileError for anything but ``<posts>`` in XML."""
    root = root_of(whole(file))
    if root.tag != "posts":
        raise LinkFileError("holds no posts of Pinboard or Delicious")
    yield from (_post(post) for post in root.iter("post"))


def _post(post: ET.Element) -> Link:
    url, title = post.get("href", ""), " ".join(post.get("description", "").split())
    tags = joined(tuple(post.get("tag", "").split()), (TO_READ,) if post.get("toread") == "yes" else ())
    return Link(0, url, title, tags, "" if url else "it has no href", iso(post.get("time", "")))
