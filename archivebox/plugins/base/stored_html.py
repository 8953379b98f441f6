"""Finds what the page is among the outputs of other plugins: its HTML as text, or what was sent as bytes."""

import codecs
import json
from pathlib import Path
from typing import NamedTuple

from archivebox.lib.charsets import codec_of, declared_in_html
from archivebox.lib.mime_sniffing import parse_content_type
from archivebox.plugins.base.responses import Archive, recording_folder

MAX_SIZE = 64 << 20  # bytes; a page above that is no text for people, and its tree would take gigabytes
SHOWN = "shown.html"
"""In the folder of dom: the page with what its shadow roots and frames show, where it has such."""
_HTML = ("text/html", "application/xhtml+xml")
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class StoredPage(NamedTuple):
    """One page as kept: where it is from, the plugin's name first, its HTML, the URL it came from ("": not known)."""

    source: str
    html: str
    url: str


class StoredDocument(NamedTuple):
    """What the server sent in the end: where it is from, the plugin's name first, its bytes and its URL.

    `content_type`: its header, and `charset`: what the browser decided; "" where they are not known.
    """

    source: str
    data: bytes
    url: str
    content_type: str = ""
    charset: str = ""

    @property
    def html(self) -> str:
        """Its bytes as text."""
        return decode_html(self.data, self.content_type, self.charset)


def find_document(snapshot_folder: Path) -> StoredDocument | None:
    """The document as it was sent (plugin responses, else wget); None when neither has kept it, or it is too large."""
    recorded = _recorded(recording_folder(str(snapshot_folder)))
    if recorded is not None:
        return recorded[0]
    folder = snapshot_folder / "wget"
    for name in (_field(folder / "wget.json", "original"), _field(folder / "wget.json", "path")):
        path = folder / name
        if name and _is_document(path, folder):
            return StoredDocument(f"wget/{name}", path.read_bytes(), _field(folder / "wget.json", "final_url"))
    return None


def _is_document(path: Path, folder: Path) -> bool:
    inside = path.resolve().is_relative_to(folder.resolve())
    return inside and _has_bytes(path) and path.stat().st_size <= MAX_SIZE


def _recorded(folder: str) -> tuple[StoredDocument, str] | None:
    """The last document of the tab's main frame that the recorder has, and its media type."""
    archive = Archive(folder)
    for response in reversed(archive.latest()):
        kept = archive.find(response.url) if response.is_main and response.sha256 else None
        if kept is not None and 0 < kept.size <= MAX_SIZE:
            facts = archive.facts(kept.url)
            mime = facts.mime or kept.mime
            header = response.header("content-type")
            return StoredDocument(Path(folder).name, archive.body(kept), kept.url, header, facts.charset), mime
    return None


def find_sent_page(snapshot_folder: Path) -> StoredPage | None:
    """The page as the server sent it, before any script; None where it was not recorded."""
    return _recorded_page(recording_folder(str(snapshot_folder)))


def find_page(snapshot_folder: Path) -> StoredPage | None:
    """The page after scripts (plugin dom), else as the server sent it (responses, wget); None when none has it."""
    dom = snapshot_folder / "dom" / "output.html"
    if _has_bytes(dom):
        html = dom.read_bytes()[:MAX_SIZE].decode("utf-8", "replace")
        return StoredPage("dom/output.html", html, _navigated_url(snapshot_folder))
    return _recorded_page(recording_folder(str(snapshot_folder))) or _wget_page(snapshot_folder / "wget")


def find_shown_page(snapshot_folder: Path) -> StoredPage | None:
    """The same with the text of shadow roots and frames, for those who read."""
    shown = snapshot_folder / "dom" / SHOWN
    if not _has_bytes(shown):
        return find_page(snapshot_folder)
    html = shown.read_bytes()[:MAX_SIZE].decode("utf-8", "replace")
    return StoredPage(f"dom/{SHOWN}", html, _navigated_url(snapshot_folder))


def _recorded_page(folder: str) -> StoredPage | None:
    document, mime = _recorded(folder) or (None, "")
    if document is None or mime not in _HTML:
        return None
    return StoredPage(document.source, document.html, document.url)


def decode_html(data: bytes, content_type: str = "", decided: str = "") -> str:
    """Bytes to text by byte order mark, as the browser `decided`, by header, by declaration, else UTF-8 or CP-1252."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    outside = codec_of(decided) or codec_of(parse_content_type(content_type).charset)
    if outside is not None:
        return data.decode(outside, "replace")
    declared = codec_of(declared_in_html(data))
    if declared is not None:
        # HTML 13.2.3.2: a page that could be read as ASCII so far cannot be UTF-16.
        return data.decode("utf-8" if declared.startswith("utf-16") else declared, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _has_bytes(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _navigated_url(snapshot_folder: Path) -> str:
    """Where the browser came to in the end, else where wget did."""
    browser = _field(snapshot_folder / "chrome" / "navigation.json", "final_url")
    return browser or _field(snapshot_folder / "wget" / "wget.json", "final_url")


def _wget_page(folder: Path) -> StoredPage | None:
    """The page as wget was sent it: the original where wget has turned the links of the copy."""
    notes = folder / "wget.json"
    if not _field(notes, "path").endswith((".html", ".htm", ".xhtml")):
        return None
    for name in (_field(notes, "original"), _field(notes, "path")):
        path = folder / name
        if name and _has_bytes(path) and path.resolve().is_relative_to(folder.resolve()):
            html = decode_html(path.read_bytes()[:MAX_SIZE])
            return StoredPage(f"wget/{name}", html, _field(notes, "final_url"))
    return None


def _field(path: Path, name: str) -> str:
    """A text field of the JSON object in `path`, "" when there is none."""
    try:
        document = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return ""
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, str) else ""
