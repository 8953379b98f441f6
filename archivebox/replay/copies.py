"""Owns how an HTML file that a plugin made of a page is shown: as it is, but its links lead into the app, and nothing
in it has a browser connect elsewhere.
"""

import os

from archivebox.lib.htmltrial import TangledError
from archivebox.replay.addresses import Place
from archivebox.replay.files import Opened
from archivebox.replay.pages import HTML
from archivebox.replay.recorded import DOCUMENTS, LARGEST_TEXT, Reply, is_xml, source, whole, xml
from archivebox.replay.rewriting.document import LARGE, Document, Kind
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
    """The document, or its beginning, with its links to the web led into the app; else its source. Blocks.

    A large one (:func:`is_large`) is rewritten in a process of its own.
    """
    with os.fdopen(os.dup(opened.descriptor), "rb") as file:
        data = file.read(LARGEST_TEXT)
    document = Document(Kind.COPY, opened.mimetype, "", "", place, scripts)
    try:
        written = document.rewrite_apart(data) if is_large(opened) else document.rewrite(data)
    except TangledError:
        return source(decode(data, opened.mimetype))
    return whole(HTML, written, is_clean=True)


def is_large(opened: Opened) -> bool:
    """Whether a document takes long and much memory to rewrite: few are done at a time."""
    return opened.size > LARGE
