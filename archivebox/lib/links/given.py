"""Owns reading lists that people give, by whatever entrance: all have the same limits."""

from collections.abc import Iterator
from typing import BinaryIO

from archivebox.lib.html_probe import ParserLimitError, check
from archivebox.lib.links.formats import ListFormat, read_links, resolve
from archivebox.lib.links.link import Link, LinkFileError
from archivebox.lib.links.text import whole_text


def read_given(file: BinaryIO, kind: ListFormat = ListFormat.AUTO) -> Iterator[Link]:
    """The entries of a seekable file in order.

    LinkFileError for what cannot be read that way, and for HTML whose reading would hold up everybody else.
    """
    kind = resolve(file, kind)
    if kind is ListFormat.HTML:
        try:
            check(whole_text(file))
        except ParserLimitError as error:
            raise LinkFileError(f"cannot be read: {error}") from None
        file.seek(0)
    return read_links(file, kind)
