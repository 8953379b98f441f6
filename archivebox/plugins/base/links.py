"""Reports the links that a page was found to have: a file of them, a record each."""

from __future__ import annotations

import io
import json
from functools import partial
from pathlib import Path

from archivebox.lib.links.formats import HEAD, ListFormat, detect, read_links
from archivebox.lib.links.link import Link, LinkFileError, resolve
from archivebox.plugins.base.hook import (
    Hook,
    found,
    noresults,
    set_deadline,
    sibling,
    succeeded,
    try_again,
    within_memory,
    write_atomically,
)
from archivebox.plugins.base.settings import Settings
from archivebox.plugins.base.stored_html import find_document, find_shown_page
from archivebox.plugins.base.tab import Navigation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NoReturn

    from archivebox.plugins.base.stored_html import StoredDocument

__all__ = [
    "Link",
    "LinkFileError",
    "ListFormat",
    "feed_title",
    "read_links",
    "report",
    "report_document",
    "report_page",
]

FILE = "urls.jsonl"
LINKS_MAX = 50_000  # links of one page
URL_MAX = 8_000  # characters; longer ones are state of a script, not addresses
_AS_BYTES = frozenset({ListFormat.RSS, ListFormat.SITEMAP})  # XML says its encoding itself; sitemaps may be packed


def report_document(
    plugin: str, kind: ListFormat, also: Callable[[StoredDocument, Iterable[Link]], object] | None = None
) -> NoReturn:
    """Report the links of the document as it was sent, and end the hook: the whole `main` of a format's plugin.

    `also` is called with the document and its links, to keep more of them.
    """
    set_deadline(Settings().timeout(plugin))
    document = find_document(Path(".."))
    if document is None:
        _end_without("No document of this page is stored")
    if kind is ListFormat.TXT and _is_markup(document.data):
        noresults("It is markup, whatever its type says")
    data = document.data if kind in _AS_BYTES else document.html.encode("utf-8", "replace")
    url = document.url or Hook.from_argv().url
    links = read_links(io.BytesIO(data), kind, url)
    keep_more = partial(also, document) if also is not None else None
    report(links, url, source=document.source, titles=kind is not ListFormat.MD, also=keep_more)


def feed_title(content: bytes) -> str:
    """Return what a feed is called, '' where it does not say."""
    from archivebox.lib.links.feeds import title_of  # 60 ms, which only who reads feeds pays

    return title_of(content)


def _is_markup(data: bytes) -> bool:
    """Chromium calls feeds plain text, as it shows them."""
    head = data[:HEAD]
    return head.lstrip()[:1] == b"<" and b"\0" not in head and detect(head) is not ListFormat.TXT


def report_page(plugin: str) -> NoReturn:
    """Report the links of the page's HTML, that after scripts where it is stored, and end the hook."""
    set_deadline(Settings().timeout(plugin))
    page = find_shown_page(Path(".."))
    if page is None:
        _end_without("No HTML of this page is stored")
    url = page.url or Hook.from_argv().url
    data = io.BytesIO(page.html.encode("utf-8", "replace"))
    with within_memory(len(page.html)):
        report(read_links(data, ListFormat.HTML, url), url, source=page.source, titles=False)


def _end_without(sentence: str) -> NoReturn:
    """End without links; a page that was lost before it came may come when it is opened again."""
    folder = sibling("chrome")
    navigation = Navigation.read(folder)
    is_lost = Path(folder).is_dir() and navigation is None
    if is_lost or (navigation is not None and navigation.error and navigation.transient):
        try_again("The page has not come yet.", reason="nothing_came")
    noresults(sentence)


def report(
    links: Iterable[Link],
    page_url: str,
    *,
    source: str,
    titles: bool = True,
    most: int = LINKS_MAX,
    also: Callable[[Iterable[Link]], object] | None = None,
) -> NoReturn:
    """Write the links, print a Snapshot record each, and end the hook.

    Each comes once, without its fragment; the page itself is no link of it. `titles`: whether theirs are of the pages,
    and not just what they are called here ("more"); the file has them in any case.
    """
    kept, facts = _collect(links, page_url, most)
    if not kept:
        noresults(facts.get("problem") or "It has no links", {**facts, "source": source})
    records = [_record(url, link) for url, link in kept.items()]
    write_atomically(FILE, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    for url, link in kept.items():
        told = {"title": link.title if titles else "", "tags": link.tags, "bookmarked_at": link.date}
        found(url, **{name: value for name, value in told.items() if value})
    if also is not None:
        also(kept.values())
    succeeded(FILE, {"urls": len(records), "source": source, **facts})


def _collect(links: Iterable[Link], page_url: str, most: int) -> tuple[dict[str, Link], dict[str, str]]:
    """Links by their URL, and why there are not more of them: a limit, or where the file stops to make sense."""
    here, kept = _absolute(page_url, page_url), dict[str, Link]()
    try:
        for link in links:
            url = _absolute(link.url, page_url)
            if url and url != here and (url not in kept or not kept[url].title):
                if len(kept) >= most and url not in kept:
                    return kept, {"stopped": f"at {most:,} links"}
                kept[url] = link
    except LinkFileError as error:
        return kept, {"problem": f"It {error}"}
    return kept, {}


def _absolute(link: str, page_url: str) -> str:
    url = resolve(link, page_url).partition("#")[0]
    return url if len(url) <= URL_MAX else ""


def _record(url: str, link: Link) -> dict[str, object]:
    said: dict[str, object] = {"title": link.title, "tags": list(link.tags), "date": link.date}
    return {"type": "Snapshot", "url": url} | {name: value for name, value in said.items() if value}
