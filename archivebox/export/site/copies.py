"""Owns which files of a page are in the site, under which safe names, and that none of them runs scripts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from archivebox.contract.formats import Format, FormatKind, best_of, formats_of
from archivebox.core.outputs.opening import opening_of
from archivebox.export.pages import ExportedPage
from archivebox.hooks import outputs_of

PICTURES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/webp": ".webp",
    "image/gif": ".gif",
    "image/avif": ".avif",
}
"""What browsers show as a picture alone: in an SVG a script may run."""
_ENDINGS = PICTURES | {
    "text/html": ".html", "application/pdf": ".pdf", "video/mp4": ".mp4", "video/webm": ".webm", "audio/mpeg": ".mp3",
    "audio/mp4": ".m4a", "audio/ogg": ".ogg",
}  # fmt: skip
_SHOWN = {FormatKind.PAGE, FormatKind.PICTURE, FormatKind.PDF, FormatKind.MEDIA}
POLICY = (
    b"<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline' data:;"
    b" img-src data: blob:; font-src data:; media-src data: blob:; base-uri 'none'; form-action 'none'\">"
)
"""Nothing in a saved page runs, or asks anybody, wherever it is opened (Content Security Policy 3)."""
_DOCTYPE = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\n\f\r]*<!doctype[^>]*>", re.IGNORECASE)
_PRAGMA = re.compile(rb"(?<=[\s/\"'])http-equiv(?=\s*=(?!\s*[\"']?content-type\b))", re.IGNORECASE)
"""What a ``<meta>`` does by itself, such as going elsewhere. Its value may hold escapes, a name not (HTML 13.2.5)."""
_UTF_8 = b"<meta charset=utf-8>"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Copy:
    """One file in the site. ``source``: its path below the page's folder."""

    label: str
    kind: FormatKind
    source: str
    name: str


@dataclass(frozen=True, slots=True)
class PageCopies:
    """What of a page is shown: the best text to read, and copies."""

    article: str
    """Path of the HTML of its article; empty where there is none."""
    copies: tuple[Copy, ...]
    """The best saved page, which has all that it needs in it, and pictures, PDFs, films and sound: as they open."""
    thumbnail: str
    pictures: tuple[str, ...]
    """Those of the article, which lie beside it."""

    @property
    def article_folder(self) -> str:
        return str(PurePosixPath(self.article).parent)


def copies_of(page: ExportedPage) -> PageCopies:
    found, there = formats_of(page.results, outputs_of), set(page.files())
    readers = (f"{one.plugin}/{one.file.name}" for one in found if one.kind is FormatKind.READER and one.file)
    article = next((path for path in readers if path in there), "")
    first = opening_of(page.snapshot, page.results, has_replay=False).format
    ordered = [*([first] if first else []), *(one for one in found if one != first)]
    copies = [copy for one in ordered if (copy := _copy(one)) and copy.source in there]
    saved = [copy for copy in copies if copy.kind is FormatKind.PAGE][:1]
    copies = [copy for copy in copies if copy.kind is not FormatKind.PAGE or copy in saved]
    thumbnail = _thumbnail(page)
    beside = str(PurePosixPath(article).parent) + "/"
    pictures = (path for path in sorted(there) if article and path.startswith(beside) and _is_picture(path))
    return PageCopies(article, tuple(copies), thumbnail if thumbnail in there else "", tuple(pictures))


def _copy(one: Format) -> Copy | None:
    if one.kind not in _SHOWN or one.file is None or one.is_aside:
        return None
    ending = _ENDINGS.get(one.file.mimetype)
    return Copy(one.label, one.kind, f"{one.plugin}/{one.file.name}", f"{one.key}{ending}") if ending else None


def _thumbnail(page: ExportedPage) -> str:
    best = best_of(page.results, outputs_of, "picture")
    small = best and best.file and best.file.mimetype in PICTURES
    return f"{best.plugin}/{best.file.name}" if small and best and best.file else ""


def _is_picture(path: str) -> bool:
    is_plain = path.isascii() and path.isprintable() and "\\" not in path
    return is_plain and PurePosixPath(path).suffix.lower() in {*PICTURES.values(), ".jpeg"}


def without_scripts(html: bytes) -> Iterator[bytes]:
    """A saved page that does nothing; nothing of one in an encoding that is not like ASCII.

    The policy stands before all that could come into its head: behind the doctype, without which pages look otherwise.
    It may push what says the encoding out of the first 1,024 bytes, where browsers look for it.
    """
    if html.startswith(_UTF_16):
        return
    doctype = _DOCTYPE.match(html)
    end = doctype.end() if doctype else 0
    yield html[:end]
    yield POLICY + (_UTF_8 if _is_utf_8(html) else b"")
    yield _PRAGMA.sub(b"data-http-equiv", html[end:])


def _is_utf_8(html: bytes) -> bool:
    try:
        html.decode()
    except UnicodeDecodeError:
        return False
    return True
