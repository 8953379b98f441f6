"""Owns what is changed in an archived HTML document, so that it is shown from the archive and asks nobody else.

The document is parsed as browsers do and written anew from its tree: what a browser would take for an attribute cannot
be missed as it could be in the text.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from selectolax.lexbor import LexborHTMLParser, LexborNode

from archivebox.replay.rewriting.css import rewrite_css
from archivebox.replay.rewriting.links import Links

_RESOURCES = frozenset({"src", "poster", "background", "data", "href", "xlink:href", "lowsrc", "dynsrc"})
_LINKING = frozenset({"href", "xlink:href"})
_SETS = frozenset({"srcset", "imagesrcset"})
_DROPPED = frozenset(
    # The bytes have changed, a page of ours has no nonce, and the archive is not asked across origins.
    {"integrity", "nonce", "crossorigin", "csp", "ping", "referrerpolicy", "manifest", "download", "attributionsrc"}
    | {"action", "formaction"}  # forms go nowhere
)
_LATE = {
    "data-src": "src",
    "data-lazy-src": "src",
    "data-original": "src",
    "data-srcset": "srcset",
    "data-lazy-srcset": "srcset",
}
"""What scripts put in when it is scrolled to, and where."""
_SHOWN_LATE = frozenset({"img", "source", "iframe"})
_OTHERS = frozenset({"style", "srcdoc", "http-equiv"})
_SELECTOR = ",".join(
    ["style", "base", "a", "area", "meta[name]"]
    + [
        f"[{name.replace(':', chr(92) + ':')}]"
        for name in sorted(_RESOURCES | _SETS | _DROPPED | _OTHERS | _LATE.keys())
    ]
)
_SHOWN_LINKS = frozenset(
    {"stylesheet", "icon", "apple-touch-icon", "mask-icon", "preload", "modulepreload", "manifest"}
)
"""Kinds of ``<link>`` that are part of the page. Others are left out: some would have the browser connect elsewhere."""
_KEPT_PRAGMAS = frozenset({"content-type", "content-language", "default-style", "x-ua-compatible"})
"""Values of ``http-equiv`` that are kept; others are policies, cookies and timers of the server."""
_REFRESH = re.compile(r"\s*[\d.]*\s*[;,]?\s*(?:url\s*=\s*)?[\"']?([^\"']+)", re.IGNORECASE)
_DOCTYPE = re.compile(r"(?:\s|\ufeff|<!--.*?-->|<\?[^>]*>)*(<!doctype[^>]*>)", re.IGNORECASE | re.DOTALL)
_TO_THE_WEB = re.compile(r"\s*(https?:)?//", re.IGNORECASE)
_DEEPEST = 5
"""Documents within the ``srcdoc`` of one another."""


def rewrite_html(text: str, links: Links, depth: int = 0) -> str:
    """The document, written anew."""
    tree = LexborHTMLParser(text)
    links = _based(tree, links)
    for node in _elements(tree, _SELECTOR):
        _rewrite(node, links, depth)
    return _with_doctype_of(text, tree.html or "")


def lead_links(text: str, links: Links) -> str:
    """A document that is whole in itself, as SingleFile makes it, of which only the links to the web are changed."""
    tree = LexborHTMLParser(text)
    for node in _elements(tree, "a,area"):
        for name, value in node.attributes.items():
            if name in _LINKING and _TO_THE_WEB.match(value or ""):
                node.attrs[name] = links.page(value or "")
        _aim(node, links)
    return _with_doctype_of(text, tree.html or "")


def _elements(tree: LexborHTMLParser, selector: str) -> Iterable[LexborNode]:
    """What a selector finds, also in templates, of which shadow roots are made; each once, which the parser does not
    promise.
    """
    nodes = chain(tree.css(selector), *(part.css(selector) for part in tree.template_fragments()))
    return {node.mem_id: node for node in nodes}.values()


def _with_doctype_of(text: str, html: str) -> str:
    """``html`` with all of the first document type: the parser forgets what makes some pages those of the quirks mode
    (HTML 13.2.6.4.1).
    """
    was, written = _DOCTYPE.match(text), _DOCTYPE.match(html)
    return html[: written.start(1)] + was[1] + html[written.end(1) :] if was and written else html


def _based(tree: LexborHTMLParser, links: Links) -> Links:
    base = tree.css_first("base[href]")
    return links.with_base(base.attributes["href"] or "") if base else links


def _rewrite(node: LexborNode, links: Links, depth: int) -> None:
    tag = node.tag
    attributes = {name: value or "" for name, value in node.attributes.items()}
    for name in attributes.keys() & _DROPPED:
        del node.attrs[name]
    if (
        tag == "base"
        or (tag == "meta" and not _is_kept(attributes, links))
        or (tag == "link" and not _is_shown(attributes))
    ):
        node.remove()
        return
    if tag == "style":
        node.inner_html = rewrite_css(node.text(), links)
    elif tag == "meta":
        _turn_refresh(node, attributes, links)
    for name, value in attributes.items():
        written = _written(tag or "", name, value, links, depth)
        if written is not None:
            node.attrs[name] = written
    if tag in _SHOWN_LATE:
        _show_now(node, attributes, links)
    if tag in {"a", "area"}:
        _aim(node, links)


def _written(tag: str, name: str, value: str, links: Links, depth: int) -> str | None:
    """The new value of an attribute; None where it stays as it is."""
    if name in _LINKING and tag in {"a", "area"}:
        return links.page(value)
    if name in _RESOURCES and (name != "data" or tag == "object"):
        return links.resource(value)
    if name in _SETS:
        return ", ".join(f"{links.resource(url)}{rest}" for url, rest in candidates(value))
    if name == "style":
        return rewrite_css(value, links)
    if name == "srcdoc":
        return rewrite_html(value, links, depth + 1) if depth < _DEEPEST else ""
    return None


def _show_now(node: LexborNode, attributes: dict[str, str], links: Links) -> None:
    """Put in what a script had put in by the time the page was kept; the script, where it runs, finds the same."""
    for late in _LATE.keys() & attributes.keys():
        name = _LATE[late]
        urls = [url for url, _ in candidates(attributes[late])] if name in _SETS else [attributes[late]]
        if any(links.is_kept(url) for url in map(links.absolute, urls) if url):
            node.attrs[late] = node.attrs[name] = _written("img", name, attributes[late], links, 0)


def _aim(node: LexborNode, links: Links) -> None:
    """Where a link opens: in the whole window, which is the app's, or in the frame while scripts run there."""
    attributes = node.attributes
    if "target" in attributes:
        del node.attrs["target"]
    href = attributes.get("href") or attributes.get("xlink:href") or ""
    if not links.scripts and href.startswith(links.place.app):
        node.attrs["target"] = "_top"


def _is_shown(attributes: dict[str, str]) -> bool:
    return not _SHOWN_LINKS.isdisjoint(attributes.get("rel", "").lower().split())


def _is_kept(attributes: dict[str, str], links: Links) -> bool:
    pragma = attributes.get("http-equiv", "").strip().lower()
    if pragma == "refresh":
        url = _refreshed_to(attributes, links)
        return bool(url) and url.partition("#")[0] != links.document and links.is_kept(url)
    return attributes.get("name", "").strip().lower() != "referrer" and (not pragma or pragma in _KEPT_PRAGMAS)


def _turn_refresh(node: LexborNode, attributes: dict[str, str], links: Links) -> None:
    if attributes.get("http-equiv", "").strip().lower() == "refresh":
        node.attrs["content"] = f"0; url={links.place.address(_refreshed_to(attributes, links))}"


def _refreshed_to(attributes: dict[str, str], links: Links) -> str:
    found = _REFRESH.match(attributes.get("content", ""))
    return links.absolute(found[1]) if found else ""


def candidates(text: str) -> Iterator[tuple[str, str]]:
    """The URLs of a ``srcset`` and what follows each (HTML 4.8.4.2.2); commas inside a URL belong to it."""
    position = 0
    while found := re.compile(r"[\s,]*([^\s,]\S*)").match(text, position):
        position, url = found.end(), found[1]
        if url.endswith(","):
            yield url.rstrip(","), ""
            continue
        rest = re.compile(r"(?:[^,(]|\([^)]*\)?)*").match(text, position)
        position = rest.end() if rest else len(text)
        yield url, rest[0].rstrip() if rest else ""
