"""An article that a library finds in a page: read on a copy of the live page, and kept.

It is kept as `content.html`, `content.txt` and `article.json`.
"""

from __future__ import annotations

import html
import json

from archivebox.plugins.base.cdp import CallTimeout, CommandFailed, TooLong
from archivebox.plugins.base.hook import failed, noresults, succeeded, write_atomically
from archivebox.plugins.base.inject import ShownPage
from archivebox.plugins.base.settings import Settings
from archivebox.plugins.base.tab import open_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from archivebox.plugins.base.cdp import Params

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


MAX_ELEMENTS = 100_000  # the longest documentation pages have 30,000; these libraries need seconds for more
READ_TIME = 20.0  # seconds; usual are 0.03 to 0.1
COUNT = "() => document.getElementsByTagName('*').length"


def read_page(plugin: str, library: str, function: str) -> Params:
    """Return the object that `function`, JavaScript that uses the injected `library`, or its promise returns.

    `shown.copy()` is the copy of the document that it reads, with what shadow roots and large frames show, and
    all frames where the page has hardly any words of its own.

    The hook ends by itself where there is no article, or the library cannot cope with the page.
    """
    timeout = Settings().timeout(plugin)
    with open_page(timeout, read_only=True) as tab:
        world = ShownPage(tab, plugin, only_large=True).world
        elements = world.call(COUNT)
        if elements > MAX_ELEMENTS:
            noresults(f"the page has {elements:,} elements, and articles are looked for in {MAX_ELEMENTS:,} at most")
        try:
            world.put(library)
            article: Params | None = world.call(function, timeout=min(READ_TIME, timeout / 2))
        except CallTimeout as error:
            raise TooLong(str(error)) from None
        except CommandFailed as error:
            failed(f"{plugin} cannot read this page: {str(error).partition(chr(10))[0]}")
    return article or noresults("no article was found")
