"""The text of XML (feeds, sitemaps), which a browser shows as its source or as a tree of elements."""

import html
import re

from archivebox.plugins.base.html_text import html_to_text, parse_html

# How Chromium begins and ends the document inside the tree that it shows of it.
_TREE = re.compile(r'<div id="webkit-xml-viewer-source-xml">(.*)</div><div class="header">', re.DOTALL)
_SOURCE = re.compile(r"\s*<(\?xml|rss|feed|opml|urlset|sitemapindex|rdf:RDF)\b")
_LITERAL = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)


def xml_in(page: str, text: str) -> str:
    """The XML that a stored page is about, "" when it is HTML; `text` is the page's text."""
    tree = _TREE.search(page)
    if tree is not None:
        return tree[1]
    return text if _SOURCE.match(text) else ""


def xml_to_text(source: str) -> str:
    """A line for each piece of text; HTML in it, as feeds have it, is turned into text as well."""
    document = _LITERAL.sub(lambda literal: html.escape(literal[1]), source)
    root = parse_html(document).root
    nodes = root.traverse(include_text=True) if root is not None else ()
    pieces = (node.text_content or "" for node in nodes if node.tag == "-text")
    lines = (_plain(piece) for piece in pieces)
    return "".join(f"{line}\n" for line in lines if line)


def _plain(piece: str) -> str:
    return html_to_text(piece).strip() if "<" in piece else " ".join(piece.split())
