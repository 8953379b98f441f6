"""Owns the choice among the pictures of ``srcset``, ``<picture>`` and ``image-set()``: those that were recorded.

The browser that captured the page asked for one of several. Another window (360 px wide, two pixels for one, dark)
would ask for another, which is not there. So what was not recorded is taken out, as long as something that was is left.
"""

import re
from collections.abc import Iterable, Iterator

from selectolax.lexbor import LexborNode

from archivebox.replay.rewriting.links import LinkRewriter

SELECTOR = "img,source[srcset],[imagesrcset],[data-srcset],[data-lazy-srcset]"
"""Elements that :func:`keep_recorded_sources` changes."""
_SETS = ("srcset", "imagesrcset", "data-srcset", "data-lazy-srcset")
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
        for name in _SETS:
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
