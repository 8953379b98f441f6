"""An article that a library found in a page, kept as `content.html`, `content.txt` and `article.json`."""

from __future__ import annotations

import html
import json

from archivebox.plugins.base.files import write_atomically
from archivebox.plugins.base.records import noresults, succeeded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

HTML, TEXT, FACTS = "content.html", "content.txt", "article.json"
MAX_LENGTH = 20_000_000  # characters of HTML; an article above that is a data set


def keep_article(content: str, text: str, facts: Mapping[str, object]) -> NoReturn:
    """Write the article's HTML, its plain text and what the library says of it, and end with the result.

    `facts` are in the library's own words, without what has no value.
    """
    if not text.strip():
        noresults("no article was found")
    if len(content) > MAX_LENGTH:
        noresults(f"the article has {len(content):,} characters, more than the {MAX_LENGTH:,} that are kept")
    known = {name: fact for name, fact in facts.items() if fact not in (None, "", [], {})}
    write_atomically(FACTS, json.dumps(known, ensure_ascii=False, indent=1) + "\n")
    write_atomically(HTML, _document(content, str(known.get("title", ""))))
    write_atomically(TEXT, text.rstrip() + "\n")  # the last: where it is, the others are
    succeeded(TEXT, {"characters": len(text), "title": known.get("title", "")})


def _document(content: str, title: str) -> str:
    """A page of its own: without the declaration, a browser would read UTF-8 as something else."""
    return f'<!doctype html>\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n{content}\n'
