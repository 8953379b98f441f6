"""Owns how an HTML file that a plugin made of a page is shown: as it is, but its links lead into the app, and nothing
in it has a browser connect elsewhere.
"""

import os

from archivebox.lib.htmltrial import TangledError
from archivebox.replay.addresses import Place
from archivebox.replay.files import Opened
from archivebox.replay.pages import HTML
from archivebox.replay.recorded import DOCUMENTS, LARGEST_TEXT, Reply, is_xml, source, whole, xml
from archivebox.replay.rewriting.html import lead_links
from archivebox.replay.rewriting.links import Links
from archivebox.replay.rewriting.text import decode


def is_xml_file(opened: Opened) -> bool:
    """Whether a file is XML that browsers may draw."""
    return not opened.is_folder and is_xml(opened.mimetype)


def xml_copy(opened: Opened) -> Reply:
    """The file, or its source. Blocks."""
    with os.fdopen(os.dup(opened.descriptor), "rb") as file:
        return xml(opened.mimetype, file.read(LARGEST_TEXT))


def has_links(opened: Opened) -> bool:
    """Whether a file is a document."""
    return not opened.is_folder and opened.mimetype in DOCUMENTS


def linked_copy(opened: Opened, place: Place, *, scripts: bool) -> Reply:
    """The document, or its beginning, with its links to the web led into the app; else its source. Blocks."""
    with os.fdopen(os.dup(opened.descriptor), "rb") as file:
        text = decode(file.read(LARGEST_TEXT), opened.mimetype)
    links = Links(place, "", "", lambda _: False, scripts)
    try:
        return whole(HTML, lead_links(text, links).encode("utf-8", "replace"), is_clean=True)
    except TangledError:
        return source(text)
