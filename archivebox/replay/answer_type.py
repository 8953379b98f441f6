"""Owns what a recorded answer is: its media type, and the charset that it or whoever uses it gives it."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from archivebox.lib.charsets import declared_in_css, declared_in_html, declared_of_files
from archivebox.lib.mime_sniffing import (
    HEAD,
    MediaType,
    is_javascript_type,
    is_json_type,
    is_xml_type,
    parse_content_type,
    type_in_use,
)
from archivebox.replay.files import NotThereError
from archivebox.replay.index import Location, Recorded, RecordingIndex, indices, opened

_IMPORTS_MOST = 5
"""Style sheets within one another that are asked for their charset."""
_REDIRECTS_MOST = 20
_BEGINNING = 64 * 1024
"""Bytes of a document in which its charset is looked for."""
_NAMING = 1024 * 1024
"""Bytes of a document in which elements with a charset for a file are looked for."""
_DOCUMENTS_REMEMBERED = 200
CSS, PDF = "text/css", "application/pdf"


def media_type_of(folder: Path, index: RecordingIndex, found: Recorded, headers: Mapping[str, str]) -> MediaType:
    """What the browser took the answer for when it was captured; where that is not known, what browsers do.

    Its charset is what the browser decided, or the header says; empty where neither did.
    """
    declared = parse_content_type(headers.get("content-type", ""))
    facts = index.facts(found)
    use = str(found.response.record.get("type", ""))
    if use == "Document" and declared.essence != PDF:  # of one in a frame the browser tells its viewer's type
        known = [facts.mime if facts else "", found.response.mime, declared.essence]
        essence = next((each for text in known if (each := parse_content_type(text).essence)), "")
    else:
        essence = declared.essence
    head = b"" if essence and not is_json_type(essence) else _read(folder, found, HEAD)
    nosniff = headers.get("x-content-type-options", "").strip().lower() == "nosniff"
    essence = type_in_use(essence, head, use=use, nosniff=nosniff)
    is_text = essence.startswith("text/") or is_xml_type(essence) or is_javascript_type(essence)
    return MediaType(essence, ((facts.charset if facts else "") or declared.charset) if is_text else "")


def is_pdf(folder: Path, url: str) -> bool:
    """Whether a recorded URL leads to a PDF, which browsers show by viewers that work in no sandbox."""
    index = indices.of(folder)
    found = index.find(url)
    for _ in range(_REDIRECTS_MOST):
        if found is None or not found.response.redirected_to:
            break
        found = index.find(found.response.redirected_to)
    if found is None:
        return False
    try:
        with opened(folder, found.head) as (headers, _):
            return media_type_of(folder, index, found, headers).essence == PDF
    except NotThereError:
        return False


def inherited_charset(folder: Path, index: RecordingIndex, found: Recorded) -> str:
    """As which a script or style sheet is read that names no charset: what the element says by which it is used, else
    the charset of the document that uses it.
    """
    for _ in range(_IMPORTS_MOST):
        user = index.user_of(found)
        if user is None or user is found:
            break
        if charset := _given_by_element(folder, index, user, found):
            return charset
        facts = index.facts(user)
        if charset := facts.charset if facts else _declared(folder, user):
            return charset
        found = user
    return ""


def _given_by_element(folder: Path, index: RecordingIndex, user: Recorded, found: Recorded) -> str:
    """What ``charset`` of the element says by which a document uses a file."""
    if user.body is None or user.response.record.get("type", "Document") != "Document":
        return ""
    files = _files_with_charset(folder, user.body, min(user.size, _NAMING), user.response.url)
    for url, label in files.items():
        named = index.find(url)
        if named is not None and named.response.url == found.response.url:
            return label
    return ""


@lru_cache(_DOCUMENTS_REMEMBERED)
def _files_with_charset(folder: Path, body: Location, size: int, url: str) -> Mapping[str, str]:
    with opened(folder, body) as (_, block):
        return declared_of_files(block.read(size), url)


def _declared(folder: Path, user: Recorded) -> str:
    """What a document or style sheet says of its charset, in its header or itself."""
    with opened(folder, user.head) as (headers, _):
        media = parse_content_type(headers.get("content-type", ""))
    if media.charset or is_javascript_type(media.essence):
        return media.charset
    beginning = _read(folder, user, _BEGINNING)
    return declared_in_css(beginning) if media.essence == CSS else declared_in_html(beginning)


def _read(folder: Path, found: Recorded, size: int) -> bytes:
    if found.body is None:
        return b""
    with opened(folder, found.body) as (_, block):
        return block.read(min(size, found.size))
