"""Writes the entries of a feed down as text: each with its title, address and date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from archivebox.plugins.base.html_text import html_to_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from archivebox.plugins.base.links import Link


def as_text(links: Iterable[Link]) -> str:
    """Return the entries one after the other, parted by a line."""
    return "\n----\n\n".join(map(_entry, links))


def _entry(link: Link) -> str:
    head = "\n".join(line for line in (link.title, link.url, link.date) if line)
    body = html_to_text(link.text)
    return f"{head}\n\n{body}" if body else f"{head}\n"
