"""Owns how an HTML file that a plugin made of a page is shown: as it is, but its links lead into the app, and nothing
in it has a browser connect elsewhere.
"""

import os

from archivebox.lib.mime_sniffing import is_xml_type
from archivebox.replay.addresses import ReplayContext
from archivebox.replay.files import OpenFile, PageFile
from archivebox.replay.recorded import DOCUMENTS, Reply, large, made
from archivebox.replay.rewriting.document import LARGEST_TEXT, Document, DocumentKind
from archivebox.replay.rewritten import DocumentSource, is_large


def is_xml_file(opened: PageFile) -> bool:
    """Whether a file is XML that browsers may draw."""
    return not opened.is_folder and is_xml_type(opened.mimetype)


def xml_copy(opened: OpenFile, place: ReplayContext, *, apart: bool = False) -> Reply:
    """The file, or its source. Blocks. LargeDocumentError."""
    return _copy(Document(DocumentKind.XML, opened.mimetype, "", "", place, False), opened, apart=apart)


def has_links(opened: PageFile) -> bool:
    """Whether a file is a document."""
    return not opened.is_folder and opened.mimetype in DOCUMENTS


def linked_copy(opened: OpenFile, place: ReplayContext, *, scripts: bool, apart: bool = False) -> Reply:
    """The document, or its beginning, with its links to the web led into the app; else its source. Blocks.

    ``apart``: a large one is rewritten in a process of its own; without, there is a LargeDocumentError for it.
    """
    return _copy(Document(DocumentKind.COPY, opened.mimetype, "", "", place, scripts), opened, apart=apart)


def _copy(document: Document, opened: OpenFile, *, apart: bool) -> Reply:
    if is_large(document.kind, opened.size):
        return large(document, DocumentSource(opened.identity, opened.size, descriptor=opened.descriptor), apart=apart)
    return made(document.make(os.pread(opened.descriptor, LARGEST_TEXT, 0)))
