"""Reads documents that it is sent, within limits: the process of :mod:`archivebox.imports.document`."""

import io
import json
import re
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress

import ada_url
from selectolax.lexbor import LexborHTMLParser, LexborNode

from archivebox.plugins.base.html_text import html_to_text
from archivebox.plugins.base.stored_html import decode_html
from archivebox.replay.rewriting.html import candidates

MEMORY, MEMORY_PER_BYTE = 512 * 1024 * 1024, 64
"""Bytes of address space, as in :mod:`archivebox.lib.html_probe_main`; a tree, and the text that is made of it."""
PARSING, PARSING_PER_BYTE = 0.5, 1 / (8 * 1024 * 1024)
"""Seconds of the processor, however busy the machine is, for the tree of a page: as in the same module."""
SECONDS, SECONDS_PER_BYTE = 3.0, 1 / (2 * 1024 * 1024)
"""The same for what is read out of a tree, or of another document."""
TEXT_MOST, TITLE_MOST, URLS_MOST, URL_MOST = 4_000_000, 500, 10_000, 4_000
PDF_PAGES_MOST = 300
_HTML = ("text/html", "application/xhtml+xml")
_RESOURCES = {
    "img": ("src", "data-src"), "source": ("src",), "script": ("src",), "video": ("src", "poster"), "audio": ("src",),
    "track": ("src",), "input": ("src",), "image": ("href", "xlink:href"), "use": ("href", "xlink:href"),
    "body": ("background",), "table": ("background",), "td": ("background",),
}  # fmt: skip
_FRAMES = {"iframe": "src", "frame": "src", "embed": "src", "object": "data"}
_SETS = ("srcset", "data-srcset", "imagesrcset")
_RELATIONS = {"stylesheet", "icon", "preload", "modulepreload", "prefetch", "manifest", "apple-touch-icon", "mask-icon"}
_NO_ADDRESSES = ("data:", "blob:", "about:", "javascript:", "#")
_CSS_URL = re.compile(
    r"""url\(\s*+(?:"([^"\n]*+)"|'([^'\n]*+)'|([^()"'\s]++))\s*+\)|@import\s++(?:"([^"\n]*+)"|'([^'\n]*+)')""",
    re.IGNORECASE,
)


def main() -> None:
    """Until nobody asks any more. SIGPROF, which nobody catches, ends it at the end of its time."""
    while line := sys.stdin.buffer.readline():
        asked = json.loads(line)
        data = sys.stdin.buffer.read(asked["length"])
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        with suppress(ValueError, OSError):  # macOS takes no such limit; that of time holds there
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY + MEMORY_PER_BYTE * len(data), most))
        _limit_cpu_time(SECONDS, SECONDS_PER_BYTE, data)
        found = read(data, asked["url"], asked["mime"], asked["content_type"], with_text=asked["with_text"])
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.buffer.write(json.dumps({"is_read": True, **found}).encode() + b"\n")
        sys.stdout.buffer.flush()


def _limit_cpu_time(seconds: float, per_byte: float, data: bytes) -> None:
    """Have this process end after so long, from now on."""
    signal.setitimer(signal.ITIMER_PROF, seconds + per_byte * len(data))


def read(data: bytes, url: str, mime: str, content_type: str, *, with_text: bool) -> dict[str, object]:
    """Title, text, and the URLs that a document names, as it names them, with what they are relative to."""
    if mime == "text/css":
        names = _listed(_css_urls(decode_html(data, content_type)))
        return {"names": names, "base": url}
    if mime == "application/pdf":
        return _read_pdf(data) if with_text else {}
    if mime not in _HTML:
        return {"text": decode_html(data, content_type)[:TEXT_MOST]} if with_text else {}
    _limit_cpu_time(PARSING, PARSING_PER_BYTE, data)
    html = decode_html(data, content_type)
    tree = LexborHTMLParser(html)
    _limit_cpu_time(SECONDS, SECONDS_PER_BYTE, data)
    base = tree.css_first("base[href]")
    within = _joined(url, (base.attributes.get("href") or "") if base is not None else "") or url
    frames = _listed(_frames(tree))
    found: dict[str, object] = {"frames": frames, "base": within, "canonical": _canonical(tree)}
    if with_text:
        found |= {"title": _title(tree), "text": html_to_text(html)[:TEXT_MOST]}
        found["names"] = [*_listed(_resources(tree)), *frames]
    return found


def _canonical(tree: LexborHTMLParser) -> str:
    """The address that a page says is its own (RFC 6596)."""
    link = tree.css_first('link[rel="canonical"][href]')
    return ((link.attributes.get("href") or "") if link is not None else "")[:URL_MOST]


def _title(tree: LexborHTMLParser) -> str:
    title = tree.css_first("title")
    named = tree.css_first('meta[property="og:title"]')
    text = (title.text() if title is not None else "") or (
        (named.attributes.get("content") or "") if named is not None else ""
    )
    return " ".join(text.split())[:TITLE_MOST]


def _frames(tree: LexborHTMLParser) -> Iterator[str]:
    for node in tree.css(",".join(f"{tag}[{name}]" for tag, name in _FRAMES.items())):
        yield node.attributes.get(_FRAMES[node.tag or ""]) or ""


def _resources(tree: LexborHTMLParser) -> Iterator[str]:
    for node in tree.css(",".join(_RESOURCES)):
        yield from (node.attributes.get(name) or "" for name in _RESOURCES[node.tag or ""])
    for node in tree.css("link[href]"):
        if _RELATIONS & set((node.attributes.get("rel") or "").lower().split()):
            yield node.attributes.get("href") or ""
    for node in tree.css(",".join(f"[{name}]" for name in _SETS)):
        yield from _candidates(node)
    for node in tree.css("style"):
        yield from _css_urls(node.text())
    for node in tree.css("[style]"):
        yield from _css_urls(node.attributes.get("style") or "")


def _candidates(node: LexborNode) -> Iterator[str]:
    for name in _SETS:
        yield from (url for url, _ in candidates(node.attributes.get(name) or ""))


def _css_urls(text: str) -> Iterator[str]:
    for found in _CSS_URL.finditer(text):
        yield next(filter(None, found.groups()), "")


def _listed(names: Iterator[str]) -> list[str]:
    """Each once, as it is written."""
    found: dict[str, None] = {}
    for name in names:
        if (text := name.strip()) and len(text) <= URL_MOST and not text.lower().startswith(_NO_ADDRESSES):
            found[text] = None
        if len(found) >= URLS_MOST:
            break
    return list(found)


def _joined(base: str, name: str) -> str:
    try:
        return str(ada_url.join_url(base, name.strip()))
    except (ValueError, UnicodeError):
        return ""


def _read_pdf(data: bytes) -> dict[str, object]:
    from pypdf import PdfReader  # takes 0.2 s, which nobody waits for without a PDF
    from pypdf.errors import PyPdfError  # comes with it

    texts: list[str] = []
    title = ""
    # What pypdf raises for files that are damaged is not listed anywhere.
    with suppress(PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OSError):
        reader = PdfReader(io.BytesIO(data))
        title = str((reader.metadata and reader.metadata.title) or "")
        texts.extend(page.extract_text() for page in reader.pages[:PDF_PAGES_MOST])
    return {"title": " ".join(title.split())[:TITLE_MOST], "text": "\n\n".join(texts)[:TEXT_MOST]}


if __name__ == "__main__":
    main()
