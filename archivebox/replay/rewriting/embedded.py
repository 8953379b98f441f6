"""Owns what stands in a page for a PDF that is shown within it: browsers show PDF by viewers that work in no sandbox,
and all that is in an archived page is in one.
"""

from html import escape
from urllib.parse import unquote, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from archivebox.replay.rewriting.links import LinkRewriter
from archivebox.replay.scripts.place import ScriptPlace

_SOURCES = {"iframe": "src", "embed": "src", "object": "data"}
_LOOKS = frozenset({"width", "height", "style", "class", "id", "title"})
_STYLE = (
    "html{height:100%;color:#1d2420;background:#f2f1ec}body{height:100%;margin:0;display:grid;place-items:center;"
    "text-align:center;font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}a{color:#0b6b4f}"
)


def replace_pdf_by_link(node: LexborNode, links: LinkRewriter) -> bool:
    """Put a link to the PDF where an element would show it; whether it would."""
    name = _SOURCES.get(node.tag or "")
    url = links.absolute(node.attributes.get(name) or "") if name else ""
    if not name or not url or not links.is_pdf(url):
        return False
    text = _document(url, links)
    if node.tag == "iframe":
        _show(node, text)
        return True
    node.insert_before(_frame_like(node))
    if node.prev is not None:
        _show(node.prev, text)
    node.remove()
    return True


def _frame_like(node: LexborNode) -> LexborNode:
    """A frame as large as another element."""
    frame = LexborHTMLParser("<iframe></iframe>").css_first("iframe")
    assert frame is not None  # noqa: S101 - it stands in the text
    for name in _LOOKS & node.attributes.keys():
        frame.attrs[name] = node.attributes[name] or ""
    return frame


def _show(frame: LexborNode, text: str) -> None:
    for name in ("src", "loading"):
        if name in frame.attributes:
            del frame.attrs[name]
    frame.attrs["srcdoc"] = text


def _document(url: str, links: LinkRewriter) -> str:
    name = escape(unquote(urlsplit(url).path.rpartition("/")[2]) or url)
    if isinstance(links.place, ScriptPlace):
        said = f"The page shows a PDF here: {name}. Stop the scripts above, then open it."
    else:
        said = f'<a href="{escape(links.place.address(url))}" target="_top">Open the PDF {name}</a>'
    return f'<!doctype html><meta charset="utf-8"><style>{_STYLE}</style><p>{said}</p>'
