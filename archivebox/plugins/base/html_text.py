"""Turns HTML into plain text: a paragraph for each block, without what is no text of the page."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from archivebox.plugins.base.hook import within_memory

# Never text for a reader.
_INVISIBLE = frozenset(
    {"head", "script", "style", "template", "noscript", "math", "canvas", "iframe", "object", "embed"}
    | {"audio", "video", "map", "datalist", "select", "button", "dialog", "defs", "symbol"}
)
# SVG 2, 11.2 and 12.4: of a drawing only what is in these is text.
_DRAWN_TEXT = frozenset({"text", "foreignobject"})
# Text, but of the site and not of the page.
_NAVIGATION_ROLES = frozenset({"navigation", "menu", "menubar", "search", "dialog", "alertdialog"})
# HTML 15.3.3 and 15.3.7 to 15.3.10: what a browser shows on lines of its own.
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dir", "div", "dl"}
    | {"dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header"}
    | {"hgroup", "hr", "legend", "li", "listing", "main", "menu", "nav", "ol", "optgroup", "option", "p", "pre"}
    | {"search", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul"}
)
_TIGHT = frozenset({"li", "dt", "dd", "tr"})  # on lines of their own, with no empty line between
_PREFORMATTED = frozenset({"pre", "listing", "textarea"})
# Private marks in the stream of text; U+001C to U+001F cannot be written in HTML save by escapes, which are removed.
_PARAGRAPH, _LINE, _CELL, _LINK = "\x1c", "\x1d", "\x1e", "\x1f"
_UNMARKED = str.maketrans(dict.fromkeys((_PARAGRAPH, _LINE, _CELL, _LINK), " "))
_KEPT_NEWLINE = str.maketrans({_PARAGRAPH: " ", _LINE: " ", _CELL: " ", _LINK: " ", "\n": _LINE})


_NO_LETTERS = re.compile(r"\W+")


class TextBlock(NamedTuple):
    """A block of a page, and those words of it that are links."""

    text: str
    linked: str


def parse_html(html: str) -> LexborHTMLParser:
    """Its tree; ends the hook where that would take more memory than a page is worth."""
    with within_memory(len(html), SelectolaxError):
        return LexborHTMLParser(html)


def html_to_text(html: str) -> str:
    """The readable text of `html`, paragraphs divided by an empty line; "" when there is none.

    Menus are left out, unless the page has no other text.
    """
    body = parse_html(html).body
    if body is None:
        return ""
    return _layout("".join(_pieces(body, menus=False))) or _layout("".join(_pieces(body, menus=True)))


def html_to_blocks(html: str) -> list[TextBlock]:
    """Every block of text in the page, menus too, in document order."""
    body = parse_html(html).body
    blocks: list[TextBlock] = []
    text, linked, in_link = "", "", False
    for piece in re.split(f"([{_PARAGRAPH}{_LINE}{_CELL}{_LINK}])", "".join(_pieces(body, menus=True)) if body else ""):
        if piece == _LINK:
            in_link = not in_link
        elif piece not in (_PARAGRAPH, _LINE, _CELL):
            text, linked = text + piece, linked + (piece if in_link else "")
        elif text.strip():
            blocks.append(TextBlock(text, linked))
            text, linked = "", ""
    return blocks


def letters(text: str) -> str:
    """A text as two who lay out white space and marks differently would both have it."""
    return _NO_LETTERS.sub("", text.lower())


def _layout(stream: str) -> str:
    """White space as CSS Text 3, 4.1.1 collapses it, with our marks as line ends."""
    paragraphs = []
    for paragraph in stream.replace(_LINK, "").split(_PARAGRAPH):
        lines = [_line(line) for line in paragraph.split(_LINE)]
        text = "\n".join(line for line in lines if line)
        if text:
            paragraphs.append(text)
    return "\n\n".join(paragraphs) + "\n" if paragraphs else ""


def _line(text: str) -> str:
    cells = [" ".join(cell.split()) for cell in text.split(_CELL)]
    return "\t".join(cells).strip()


def _pieces(body: LexborNode, *, menus: bool) -> Iterator[str]:
    """Text and marks in document order; a stack of our own, because hostile pages nest 100,000 deep."""
    waiting: list[tuple[LexborNode | str, str]] = [(body, "")]  # and the element that decides how text in it is read
    while waiting:
        node, within = waiting.pop()
        if isinstance(node, str):
            yield node
            continue
        tag = (node.tag or "").lower()
        if tag == "-text":
            if within != "svg":
                yield (node.text_content or "").translate(_KEPT_NEWLINE if within == "pre" else _UNMARKED)
        elif tag == "br":
            yield _LINE
        elif _is_shown(node, tag, menus=menus):
            mark = _mark(tag)
            yield mark
            if mark != _CELL:  # a tab stands between two cells
                waiting.append((mark, ""))
            inside = _reading(tag, within)
            waiting.extend((child, inside) for child in reversed(list(node.iter(include_text=True))))


def _reading(tag: str, within: str) -> str:
    """How text in an element is read: "svg" not at all, "pre" with its line ends, "" as usual."""
    if tag == "svg":
        return "svg"
    if tag in _PREFORMATTED:
        return "pre"
    return "" if within == "svg" and tag in _DRAWN_TEXT else within


def _mark(tag: str) -> str:
    if tag in _TIGHT or tag in _DRAWN_TEXT:
        return _LINE
    if tag in _BLOCKS:
        return _PARAGRAPH
    if tag in {"td", "th"}:
        return _CELL
    return _LINK if tag == "a" else ""


def _is_shown(node: LexborNode, tag: str, *, menus: bool) -> bool:
    if not tag or tag.startswith(("-", "!")) or tag in _INVISIBLE:
        return False
    attributes = node.attributes
    if "hidden" in attributes and (attributes["hidden"] or "") != "until-found":
        return False
    if menus:
        return True
    return tag != "nav" and (attributes.get("role") or "").strip().lower() not in _NAVIGATION_ROLES
