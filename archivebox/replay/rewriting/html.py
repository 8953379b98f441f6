"""Owns what is changed in an archived HTML document, so that it is shown from the archive and asks nobody else.

The document is parsed as browsers do and written anew from its tree: what a browser would take for an attribute cannot
be missed as it could be in the text. What is written is read again until nothing more has to be taken out: what is text
in one tree may be elements in the next (a style sheet within SVG, for one; HTML 13.3).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from html import escape
from itertools import chain
from urllib.parse import unquote, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from archivebox.lib import html_probe
from archivebox.replay.addresses import ReplayContext
from archivebox.replay.rewriting.css import rewrite_css
from archivebox.replay.rewriting.links import LinkRewriter
from archivebox.replay.scripts.place import ScriptPlace
from archivebox.replay.scripts.policy import policy_of_page

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
_FRAMES = frozenset({"iframe", "frame"})
_OTHERS = frozenset({"style", "srcdoc", "http-equiv", "sandbox"})
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
_POLICY = "content-security-policy"
_KEPT_PRAGMAS = frozenset({"content-type", "content-language", "default-style", "x-ua-compatible"})
"""Values of ``http-equiv`` that are kept; others are policies, cookies and timers of the server."""
_REFRESH = re.compile(r"\s*[\d.]*\s*[;,]?\s*(?:url\s*=\s*)?[\"']?([^\"']+)", re.IGNORECASE)
DOCTYPE = re.compile(r"(?:\s|\ufeff|(?><!--.*?-->)|<\?[^>]*+>)*+(<!doctype[^>]*>)", re.IGNORECASE | re.DOTALL)
"""What stands before it is taken in one way: sixty comments without any had the server try for ever."""
_ANIMATIONS = frozenset({"set", "animate"})
"""Elements of SVG that give another an attribute which does not stand in the document."""
_LEADING = _LINKING | {"target"}
"""Those of them that would say where a link leads, and where it opens."""
_HARMFUL = ",".join(
    ["base", "link", "meta", "a", "area", *_ANIMATIONS, *(f"[{name}]" for name in sorted(_DROPPED | {"srcdoc"}))]
)
_READINGS = 5
"""Times that a document is read again; one that is not steady by then was made to be none."""
_DEEPEST = 5
"""Documents within the ``srcdoc`` of one another."""


def rewrite_html(text: str, links: LinkRewriter, depth: int = 0) -> str:
    """The document, written anew. ParserLimitError."""
    links, text = _rewritten(text, links, depth)
    return rewrite_links_only(text, links, depth)


def _rewritten(text: str, links: LinkRewriter, depth: int) -> tuple[LinkRewriter, str]:
    """The document with all that it names asked of the archive, and its links with its base.

    A function of its own, because a tree takes a hundred times the memory of its text: none waits for the next.
    """
    tree = _parsed(text)
    links = _based(tree, links)
    if not links.scripts and isinstance(links.place, ReplayContext):
        for node in _elements(tree, "noscript"):
            _close_noscript(node, links)
    keep_recorded_sources(_elements(tree, SOURCES), links)
    frames: Counter[str] = Counter()
    for node in _elements(tree, _SELECTOR):
        if replace_pdf_by_link(node, links):
            continue
        url = links.absolute(node.attributes.get("src") or "") if node.tag in _FRAMES else ""
        _rewrite(node, links, depth)
        if url:
            _number_frame(node, url, links, frames)
    return links, with_doctype_of(text, tree.html or "")


def rewrite_links_only(text: str, links: LinkRewriter, depth: int = 0) -> str:
    """Return a document whose links to the web lead into the app; the rest of it stays.

    Nothing is left by which a browser would connect elsewhere, or say where it comes from. Empty where that does not
    come to an end. Raises ParserLimitError.
    """
    for _ in range(_READINGS):
        cleaned = _cleaned_once(text, links, depth)
        if cleaned is None:
            return text
        text = cleaned
    return ""


def _cleaned_once(text: str, links: LinkRewriter, depth: int) -> str | None:
    """The document without what is harmful in one reading of it; None where there is nothing."""
    tree, changed = _parsed(text), False
    for node in _elements(tree, _HARMFUL):
        changed = _clean(node, links, depth) or changed
    return with_doctype_of(text, tree.html or "") if changed else None


def _parsed(text: str) -> LexborHTMLParser:
    html_probe.check(text)
    return LexborHTMLParser(text)


def _elements(tree: LexborHTMLParser, selector: str) -> Iterator[LexborNode]:
    """What a selector finds, also in templates within one another, of which shadow roots are made; each once, which the
    parser does not promise.
    """
    seen: set[int] = set()
    for node in chain(tree.css(selector), *(part.css(selector) for part in _fragments(tree))):
        if node.mem_id not in seen:
            seen.add(node.mem_id)
            yield node


def _fragments(tree: LexborHTMLParser) -> list[LexborNode]:
    found = tree.template_fragments()
    for part in found:  # which grows meanwhile
        found.extend(part.template_fragments())
    return found


def with_doctype_of(text: str, html: str) -> str:
    """``html`` with all of the first document type: the parser forgets what makes some pages those of the quirks mode
    (HTML 13.2.6.4.1).
    """
    was, written = DOCTYPE.match(text), DOCTYPE.match(html)
    return html[: written.start(1)] + was[1] + html[written.end(1) :] if was and written else html


def put_first(html: str, put_in: str) -> str:
    """``html`` with something before everything but its document type, where a browser begins the head with it."""
    doctype = DOCTYPE.match(html)
    start = doctype.end() if doctype else 0
    return html[:start] + put_in + html[start:]


def _based(tree: LexborHTMLParser, links: LinkRewriter) -> LinkRewriter:
    base = tree.css_first("base[href]")
    return links.with_base(base.attributes["href"] or "") if base else links


def _close_noscript(node: LexborNode, links: LinkRewriter) -> None:
    """Leave of what stands there for who runs no scripts the styles, and pictures that were recorded and that nothing
    else shows: the page was recorded with its scripts, and showed nothing of it.
    """
    before = node.prev
    while before is not None and before.is_text_node:
        before = before.prev
    is_shown = before is not None and before.tag in _SHOWN_LATE and not _LATE.keys().isdisjoint(before.attributes)
    parts = node.css("style,link[rel=stylesheet],img[src]")
    kept = (one for one in parts if one.tag != "img" or not is_shown)
    node.inner_html = "".join(one.html or "" for one in kept if one.tag == "style" or _is_kept_part(one, links))


def _is_kept_part(node: LexborNode, links: LinkRewriter) -> bool:
    url = links.absolute(node.attributes.get("src") or node.attributes.get("href") or "")
    return bool(url) and links.is_kept(url)


def _rewrite(node: LexborNode, links: LinkRewriter, depth: int) -> None:
    """Have all that an element names asked of the archive."""
    tag, attributes = node.tag or "", _attributes(node)
    if _is_left_out(tag, attributes, links):
        node.remove()
        return
    if tag == "style":
        node.inner_html = rewrite_css(node.text(), links)
    elif tag == "meta":
        _turn_refresh(node, attributes, links)
        _turn_policy(node, attributes, links)
    for name, value in attributes.items():
        written = _written(tag, name, value, links, depth)
        if written is not None:
            node.attrs[name] = written
    if tag in _SHOWN_LATE:
        _show_now(node, attributes, links)
    _clean(node, links, depth)


def _number_frame(node: LexborNode, url: str, links: LinkRewriter, frames: Counter[str]) -> None:
    """Have a frame show what it got, and not what another frame got at the same URL."""
    document = url.partition("#")[0]
    if links.count_frames(document) > 0:
        frames[document] += 1
        node.attrs["src"] = links.place.frame_address(url, frames[document])


def _attributes(node: LexborNode) -> dict[str, str]:
    return {name: value or "" for name, value in node.attributes.items()}


def _animates(attributes: dict[str, str]) -> str:
    return next((value.strip().lower() for name, value in attributes.items() if name.lower() == "attributename"), "")


def _clean(node: LexborNode, links: LinkRewriter, depth: int) -> bool:
    """Take out what is harmful in or about an element; whether there was anything."""
    tag, attributes = node.tag or "", _attributes(node)
    if _is_left_out(tag, attributes, links):
        node.remove()
        return True
    wanted = _cleaned(tag, attributes, links, depth)
    for name in attributes.keys() - wanted.keys():
        del node.attrs[name]
    for name, value in wanted.items():
        if attributes.get(name) != value:
            node.attrs[name] = value
    return wanted != attributes


def _is_left_out(tag: str, attributes: dict[str, str], links: LinkRewriter) -> bool:
    if tag == "meta":
        return not _is_kept(attributes, links)
    if tag == "link":
        return not _kinds(attributes)
    return (tag == "base" and not links.keeps_base) or (tag in _ANIMATIONS and _animates(attributes) in _LEADING)


def _cleaned(tag: str, attributes: dict[str, str], links: LinkRewriter, depth: int) -> dict[str, str]:
    """The attributes that an element keeps."""
    kept = {"nonce"} if links.keeps_policy else set()
    wanted = {name: value for name, value in attributes.items() if name not in _DROPPED or name in kept}
    if "srcdoc" in wanted:
        wanted["srcdoc"] = rewrite_links_only(wanted["srcdoc"], links, depth + 1) if depth < _DEEPEST else ""
    if tag == "link":
        wanted["rel"] = _kinds(attributes)
    elif tag in {"a", "area"}:
        target = wanted.pop("target", "")
        wanted |= {name: links.outward(wanted[name]) for name in _LINKING & wanted.keys()}
        href = wanted.get("href") or wanted.get("xlink:href") or ""
        if links.leaves_frame(href) or (target == "_top" and not links.scripts and links.is_ours(href)):
            wanted["target"] = "_top"
    elif tag == "base":
        wanted.pop("target", None)
    return wanted


def _written(tag: str, name: str, value: str, links: LinkRewriter, depth: int) -> str | None:
    """The new value of an attribute; None where it stays as it is."""
    if tag == "base":
        return links.place.address(links.base) if name == "href" else None
    if name in _LINKING and tag in {"a", "area"}:
        return links.page(value)
    if name in _RESOURCES and (name != "data" or tag == "object"):
        return links.resource(value)
    if name in _SETS:
        return ", ".join(f"{links.resource(url)}{rest}" for url, rest in candidates(value))
    if name == "style":
        return rewrite_css(value, links)
    if name == "sandbox":  # frames in it would have an ancestor that is nobody's, and its scripts no recording
        return value if "allow-same-origin" in value.lower().split() else f"{value} allow-same-origin".lstrip()
    if name == "srcdoc":
        return links.before + rewrite_html(value, links, depth + 1) if depth < _DEEPEST else ""
    return None


def _show_now(node: LexborNode, attributes: dict[str, str], links: LinkRewriter) -> None:
    """Put in what a script had put in by the time the page was kept; the script, where it runs, finds the same."""
    for late in _LATE.keys() & attributes.keys():
        name = _LATE[late]
        urls = [url for url, _ in candidates(attributes[late])] if name in _SETS else [attributes[late]]
        if any(links.is_kept(url) for url in map(links.absolute, urls) if url):
            node.attrs[late] = node.attrs[name] = _written("img", name, attributes[late], links, 0)


def _kinds(attributes: dict[str, str]) -> str:
    """What a ``<link>`` is, of what is part of the page; an alternative style sheet is told so beside."""
    kinds = attributes.get("rel", "").lower().split()
    is_shown = not _SHOWN_LINKS.isdisjoint(kinds)
    return " ".join(kind for kind in kinds if kind in _SHOWN_LINKS | {"alternate"}) if is_shown else ""


def _is_kept(attributes: dict[str, str], links: LinkRewriter) -> bool:
    pragma = attributes.get("http-equiv", "").strip().lower()
    if pragma == _POLICY:
        return links.keeps_policy
    if pragma == "refresh":
        if links.is_ours(_named_by_refresh(attributes)):
            return True
        url = _refreshed_to(attributes, links)
        return bool(url) and url.partition("#")[0] != links.document and links.is_kept(url)
    return attributes.get("name", "").strip().lower() != "referrer" and (not pragma or pragma in _KEPT_PRAGMAS)


def _turn_refresh(node: LexborNode, attributes: dict[str, str], links: LinkRewriter) -> None:
    if attributes.get("http-equiv", "").strip().lower() == "refresh":
        node.attrs["content"] = f"0; url={links.place.address(_refreshed_to(attributes, links))}"


def _turn_policy(node: LexborNode, attributes: dict[str, str], links: LinkRewriter) -> None:
    if attributes.get("http-equiv", "").strip().lower() == _POLICY:
        node.attrs["content"] = policy_of_page(attributes.get("content", ""), links.nonce)


def _refreshed_to(attributes: dict[str, str], links: LinkRewriter) -> str:
    return links.absolute(_named_by_refresh(attributes))


def _named_by_refresh(attributes: dict[str, str]) -> str:
    found = _REFRESH.match(attributes.get("content", ""))
    return found[1] if found else ""


# Of the pictures of `srcset` and `<picture>`, those are shown that were recorded. The browser that captured the page
# asked for one of several. Another window (360 px wide, two pixels for one, dark) would ask for another, which is not
# there. So what was not recorded is taken out, as long as something that was is left.

SOURCES = "img,source[srcset],[imagesrcset],[data-srcset],[data-lazy-srcset]"
"""Elements that :func:`keep_recorded_sources` changes."""
_SOURCE_SETS = ("srcset", "imagesrcset", "data-srcset", "data-lazy-srcset")
_CANDIDATE = re.compile(r"[\s,]*([^\s,]\S*)")
_DESCRIPTORS = re.compile(r"(?:[^,(]|\([^)]*\)?)*")


def candidates(text: str) -> Iterator[tuple[str, str]]:
    """The URLs of a ``srcset`` and what follows each (HTML 4.8.4.2.2); commas inside a URL belong to it."""
    position = 0
    while found := _CANDIDATE.match(text, position):
        position, url = found.end(), found[1]
        if url.endswith(","):
            yield url.rstrip(","), ""
            continue
        rest = _DESCRIPTORS.match(text, position)
        position = rest.end() if rest else len(text)
        yield url, rest[0].rstrip() if rest else ""


def keep_recorded_sources(nodes: Iterable[LexborNode], links: LinkRewriter) -> None:
    """Leave of each set of pictures those that were recorded, and have each picture fall back on one of them."""
    pictures: list[LexborNode] = []
    for node in nodes:
        for name in _SOURCE_SETS:
            if text := node.attributes.get(name):
                _filter_set(node, name, text, links)
        if node.tag == "img":
            pictures.append(node)
    for picture in pictures:
        _fall_back(picture, links)


def _filter_set(node: LexborNode, name: str, text: str, links: LinkRewriter) -> None:
    """Take out of one ``srcset`` what was not recorded; a ``<source>`` that has nothing left is skipped by browsers."""
    every = list(candidates(text))
    kept = [(url, rest) for url, rest in every if _is_recorded(url, links)]
    if kept and kept != every:
        node.attrs[name] = ", ".join(f"{url}{rest}" for url, rest in kept)
    elif not kept and name == "srcset" and _has_other(node, links):
        del node.attrs[name]


def _has_other(node: LexborNode, links: LinkRewriter) -> bool:
    """Whether something else of the same picture was recorded."""
    parent = node.parent
    group = [node] if parent is None or parent.tag != "picture" else parent.css("img,source")
    return any(_is_recorded(url, links) for one in group for url in _urls(one))


def _fall_back(picture: LexborNode, links: LinkRewriter) -> None:
    """Have an ``<img>`` whose ``src`` was not recorded show what was: it is shown where no other candidate fits."""
    if _is_recorded(picture.attributes.get("src") or "", links):
        return
    parent = picture.parent
    sources = parent.css("source") if parent is not None and parent.tag == "picture" else []
    urls = (url for one in (picture, *sources) for url, _ in candidates(one.attributes.get("srcset") or ""))
    recorded = next((url for url in urls if _is_recorded(url, links)), None)
    if recorded is not None:
        picture.attrs["src"] = recorded


def _urls(node: LexborNode) -> list[str]:
    source = node.attributes.get("src")
    urls = [url for url, _ in candidates(node.attributes.get("srcset") or "")]
    return [*([source] if source and node.tag == "img" else []), *urls]


def _is_recorded(text: str, links: LinkRewriter) -> bool:
    """Whether a picture is there without asking anybody: recorded, or part of the document."""
    if text.strip().lower().startswith(("data:", "blob:")):
        return True
    url = links.absolute(text)
    return bool(url) and links.is_kept(url)


# Browsers show PDF by viewers that work in no sandbox, and all that is in an archived page is in one: a link stands
# there.

_PDF_ELEMENTS = {"iframe": "src", "embed": "src", "object": "data"}
_LOOKS = frozenset({"width", "height", "style", "class", "id", "title"})
_STYLE = (
    "html{height:100%;color:#1d2420;background:#f2f1ec}body{height:100%;margin:0;display:grid;place-items:center;"
    "text-align:center;font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}a{color:#0b6b4f}"
)


def replace_pdf_by_link(node: LexborNode, links: LinkRewriter) -> bool:
    """Put a link to the PDF where an element would show it; whether it would."""
    name = _PDF_ELEMENTS.get(node.tag or "")
    url = links.absolute(node.attributes.get(name) or "") if name else ""
    if not name or not url or not links.is_pdf(url):
        return False
    text = _link_to_pdf(url, links)
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


def _link_to_pdf(url: str, links: LinkRewriter) -> str:
    name = escape(unquote(urlsplit(url).path.rpartition("/")[2]) or url)
    if isinstance(links.place, ScriptPlace):
        said = f"The page shows a PDF here: {name}. Stop the scripts above, then open it."
    else:
        said = f'<a href="{escape(links.place.address(url))}" target="_top">Open the PDF {name}</a>'
    return f'<!doctype html><meta charset="utf-8"><style>{_STYLE}</style><p>{said}</p>'
