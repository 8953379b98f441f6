"""Owns reading sitemaps (sitemaps.org, protocol 0.9): pages, or further sitemaps; packed ones, too."""

import gzip
import zlib
from collections.abc import Iterator
from typing import BinaryIO
from xml.etree import ElementTree as ET

from archivebox.lib.links.dates import iso
from archivebox.lib.links.link import LARGEST_DOCUMENT, Link, LinkFileError
from archivebox.lib.links.text import whole
from archivebox.lib.links.xml import root_of

_PACKED = b"\x1f\x8b"
_ENTRIES = ("url", "sitemap")


def read(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """Each ``<loc>`` with its ``<lastmod>``; LinkFileError where it is no sitemap."""
    root = root_of(_unpacked(file))
    if _name(root) not in ("urlset", "sitemapindex"):
        raise LinkFileError("is not a sitemap")
    yield from (_link(entry) for entry in root if _name(entry) in _ENTRIES)


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


def _link(entry: ET.Element) -> Link:
    said = {_name(child): (child.text or "").strip() for child in entry}
    return Link(
        0, said.get("loc", ""), date=iso(said.get("lastmod", "")), problem="" if said.get("loc") else "no <loc>"
    )


def _name(element: ET.Element) -> str:
    return str(element.tag).rpartition("}")[2]
