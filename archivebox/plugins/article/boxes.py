"""The boxes and lists that belong to an article and that a library takes for something of the site.

Boxes are notes, tips and examples, which look like a sidebar; lists of short items look like what is said of an article
(its day, its author, its topics).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import ada_url

from archivebox.plugins.base.html_text import html_to_blocks, html_to_text, letters, parse_html

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborHTMLParser, LexborNode

BOXES = ", ".join(
    ["aside", "[role=note]", "[class*=sidebar i]", "[class*=admonition i]", "[class*=callout i]"]
    + [f"[class~={word} i]" for word in ("note", "tip", "warning", "important", "caution", "example")]
)
LISTS = frozenset({"ul", "ol", "dl"})
_ABOUT_ARTICLE = "[class*=meta i], [class*=byline i], [class*=tag i], :has(time)"
# Written on what is offered beside an article, and not said in it.
_OFFERS = re.compile(
    r"related|newsletter|signup|subscrib|promo|share|social|author|\bbio|\bnav|\btoc|menu|comment|advert|sponsor|banner"
    r"|cookie|consent|popular|trending|recommend",
    re.IGNORECASE,
)
_CONTROLS = "input, textarea, form, button, nav, iframe"
_REMOVED = "script, style, link, meta, template, noscript"
COMMENTS = ", ".join(
    f"{tag}[{name}*={word} i]"
    for tag in ("div", "section", "ul", "ol", "aside", "article", "table")  # and no `span` of a program's comment
    for name in ("id", "class")
    for word in ("comment", "disqus")
)
PARTS = "p, div, section, ul, ol, dl, table, pre, blockquote, figure, h1, h2, h3, h4, h5, h6"
MAX_BOXES, MAX_PARTS = 200, 2_000  # of a page, of an article
LEAST = 60  # letters; as of a paragraph
LINKED = 0.2  # of the letters of a box in links; the boxes of a site have half of them there and more
KEPT = 0.5  # of the letters of a box in the article: then the library has seen it
BESIDE = 2  # paragraphs of the article have to be beside a box: a site's own stands beside the whole of it
KNOWN_BY = 200  # letters by which a part of the page is looked for in the article
SHORTEST = 30  # letters of a paragraph beside a box
SHORTEST_AT_LIST = 20  # and beside a list, which stands under a heading or a short sentence


class Box(NamedTuple):
    """One box or list: its HTML with whole addresses, and the letters of the part before it ("": it is the first)."""

    html: str
    before: str


def comments_in(tree: LexborHTMLParser) -> list[str]:
    """The letters of each part of a page in which readers write."""
    parts: list[LexborNode] = []
    for node in tree.css(COMMENTS)[:MAX_BOXES]:
        if not _is_within(node, parts):
            parts.append(node)
    return [letters(html_to_text(part.html or "")) for part in parts]


def boxes_of(tree: LexborHTMLParser, article: str, url: str) -> list[Box]:
    """The boxes and lists of a page at `url` that stand among the parts of an article, and that its text lacks."""
    kept = letters(article)
    found: list[LexborNode] = []
    beside: dict[int, list[tuple[int, str]]] = {}
    boxes = []
    for node in _candidates(tree):
        parent = node.parent
        if parent is None or _is_within(node, found) or not _is_prose(node, kept):
            continue
        if parent.mem_id not in beside:
            beside[parent.mem_id] = list(_kept_parts(parent, kept))
        shortest = SHORTEST_AT_LIST if node.tag in LISTS else SHORTEST
        parts = [(key, text) for key, text in beside[parent.mem_id] if key != node.mem_id and len(text) >= shortest]
        if len(parts) >= BESIDE:
            found.append(node)
            boxes.append(Box(_html(node, url), _before(node, dict(parts))))
    return boxes


def with_boxes(content: str, boxes: list[Box]) -> str:
    """The HTML of an article with its boxes, each behind the paragraph that it follows in the page."""
    tree = parse_html(content)
    if tree.body is None:
        return content
    places = {letters(html_to_text(node.html or "")): node for node in reversed(tree.body.css(PARTS)[:MAX_PARTS])}
    first = tree.body.child
    homeless = []
    for box in reversed(boxes):  # the last one first, so that those behind one paragraph keep their order
        place, made = places.get(box.before), parse_html(box.html).css_first("body > *")
        if made is not None and place is not None and box.before:
            place.insert_after(made)
        elif made is not None and first is not None and not box.before:
            first.insert_before(made)
        else:
            homeless.append(box.html)
    return (tree.body.inner_html or "") + "".join(reversed(homeless))


def _candidates(tree: LexborHTMLParser) -> list[LexborNode]:
    """What may be put back: boxes first, so that a list in a box comes with it."""
    lists = ", ".join(f"{tag}:not({_ABOUT_ARTICLE})" for tag in LISTS)
    return [*tree.css(BOXES)[:MAX_BOXES], *tree.css(lists)[:MAX_BOXES]]


def _is_within(node: LexborNode, found: list[LexborNode]) -> bool:
    """Whether a node is one of these or inside of one: what several selectors match comes several times."""
    known = {one.mem_id for one in found}
    place: LexborNode | None = node
    while place is not None and place.mem_id not in known:
        place = place.parent
    return place is not None


def _is_prose(node: LexborNode, kept: str) -> bool:
    """Whether a box has sentences that the article lacks, and offers nothing."""
    names = f"{node.attributes.get('class') or ''} {node.attributes.get('id') or ''}"
    if _OFFERS.search(names) or node.css_first(_CONTROLS) is not None:
        return False
    blocks = html_to_blocks(node.html or "")
    texts = [letters(block.text) for block in blocks]
    size, linked = sum(map(len, texts)), sum(len(letters(block.linked)) for block in blocks)
    if size < LEAST or linked > LINKED * size:
        return False
    return sum(len(text) for text in texts if text in kept) < KEPT * size


def _kept_parts(parent: LexborNode, kept: str) -> Iterator[tuple[int, str]]:
    """The parts of an element that the article has, with their letters."""
    for part in parent.iter():
        text = letters(html_to_text(part.html or ""))
        if len(text) >= SHORTEST_AT_LIST and text[:KNOWN_BY] in kept:
            yield part.mem_id, text


def _before(node: LexborNode, parts: dict[int, str]) -> str:
    previous = node.prev
    while previous is not None:
        if previous.mem_id in parts:
            return parts[previous.mem_id]
        previous = previous.prev
    return ""


def _html(node: LexborNode, url: str) -> str:
    """A box or list on its own, without what would run in it."""
    tag = node.tag if node.tag in LISTS else "aside"
    tree = parse_html(f"<{tag}>{node.inner_html or ''}</{tag}>")
    for unwanted in tree.css(_REMOVED):
        unwanted.decompose()
    for element in tree.css("*"):
        for name, value in list(element.attributes.items()):
            if name.startswith("on"):
                del element.attrs[name]
            elif name in ("href", "src"):
                element.attrs[name] = _absolute(value or "", url)
    return tree.body.inner_html or "" if tree.body is not None else ""


def _absolute(address: str, base: str) -> str:
    try:
        return str(ada_url.URL(address, base).href)
    except ValueError:
        return ""
