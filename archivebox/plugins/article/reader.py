"""The page that people read: the article under its headline, with its pictures from the recorder beside it."""

from __future__ import annotations

import html
import mimetypes
import os
from typing import TYPE_CHECKING

import ada_url

from archivebox.plugins.base import write_atomically
from archivebox.plugins.base.html_text import html_to_text, parse_html
from archivebox.plugins.base.pictures import Smaller
from archivebox.plugins.base.responses import Archive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from selectolax.lexbor import LexborHTMLParser

FOLDER = "pictures"
SIDE = 1600  # px; twice the width of the text
STYLE = """
body { max-width: 42em; margin: 2em auto; padding: 0 1em; font: 1.1em/1.6 serif }
header p { color: #767676 }
img, video { max-width: 100%; height: auto }
pre { overflow: auto }
aside { margin: 1.5em 0; padding: 0 1em; border: 1px solid #ccc }
"""


class Pictures:
    """Pictures that the browser got, kept as files up to a size of all together (bytes)."""

    def __init__(self, max_size: int) -> None:
        self._archive, self._left, self._smaller = Archive(), max_size, Smaller()
        self._kept: dict[str, str] = {}

    def keep(self, url: str) -> str:
        """Return the name of the file with what is behind a URL, "" where it was not recorded or is too large."""
        response = self._archive.find(url)
        if response is None or response.truncated or not response.mime.startswith("image/"):
            return ""
        digest = response.sha256
        if digest not in self._kept and response.size <= self._left:
            self._left -= response.size
            data, suffix = self._archive.body(response), mimetypes.guess_extension(response.mime) or ""
            if made := self._smaller.picture(data, SIDE):
                data, suffix = made[0], f".{made[1].removeprefix('image/')}"
            os.makedirs(FOLDER, exist_ok=True)
            self._kept[digest] = write_atomically(f"{FOLDER}/{digest[:16]}{suffix}", data)
        return self._kept.get(digest, "")


def reader_page(content: str, facts: Mapping[str, str], url: str, pictures: Pictures) -> str:
    """A whole HTML page; `content` is what a library found at `url`."""
    tree = parse_html(content)
    tree.strip_tags(["script", "style", "link", "meta", "title", "source"])
    for image in tree.css("img[src]"):
        name = pictures.keep(_absolute(image.attributes["src"] or "", url))
        if name:
            image.attrs["src"], image.attrs["srcset"] = name, ""
    _add_texts_of_drawings(tree)
    title = html.escape(facts.get("title", ""))
    headline = f"<h1>{title}</h1>" if title and tree.css_first("h1") is None else ""
    day = facts.get("published", "").partition("T")[0]
    said = " · ".join(html.escape(fact) for fact in (facts.get("author"), day, facts.get("site")) if fact)
    body = tree.body.inner_html if tree.body is not None else ""
    return f"""<!doctype html>
<html dir="auto" lang="{html.escape(facts.get("language", ""))}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{STYLE}</style>
<header>{headline}<p>{said}</p></header>
{body}
</html>
"""


def _add_texts_of_drawings(tree: LexborHTMLParser) -> None:
    """Put the words of a drawing behind it, hidden: the app shows neither drawings nor that attribute, so the words."""
    for drawing in tree.css("svg:not(svg svg)"):
        words = html.escape(" ".join(html_to_text(drawing.html or "").split()))
        paragraph = parse_html(f"<p hidden>{words}</p>").css_first("p")
        if words and paragraph is not None:
            drawing.insert_after(paragraph)


def _absolute(address: str, base: str) -> str:
    try:
        return str(ada_url.URL(address, base).href)
    except ValueError:
        return ""
