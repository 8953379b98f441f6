"""Owns the pages of the site as HTML. All that comes from pages is escaped here, or was cleaned."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

_POLICY = (
    "default-src 'none'; img-src 'self' file: data:; style-src 'self' file:; font-src 'self' file:; base-uri 'none'"
)
_WITH_SEARCH = f"{_POLICY}; script-src 'self' file:"
_WITH_FRAME = f"{_POLICY}; frame-src 'self' file:"
Entry = Mapping[str, Any]
"""What the list says of a page: folder, title, url, host, date, tags, excerpt, thumbnail."""


def list_page(entries: Sequence[Entry], *, number: int, last: int, count: int, shards: int) -> str:
    """One page of the list; all of them search."""
    search = format_html(
        '<form class="search" role="search"><label class="hidden" for="words">Search</label>'
        '<input id="words" type="search" placeholder="Search" autocomplete="off" data-shards="{}"></form>'
        '<p id="found" class="soft" role="status" hidden></p><ul id="results" class="pages" hidden></ul>',
        shards,
    )
    listed = format_html('<ul id="listed" class="pages">{}</ul>', format_html_join("\n", "{}", map(_entry, entries)))
    body = format_html(
        '<main><h1>Archived pages</h1><p class="soft">{} page{}</p>{}{}{}</main><script src="site/search.js"></script>',
        f"{count:,}", "" if count == 1 else "s", search, listed, _turning(number, last),
    )  # fmt: skip
    return _document("Archived pages", body, policy=_WITH_SEARCH)


def list_name(number: int) -> str:
    return "index.html" if number == 1 else f"list-{number}.html"


def _entry(entry: Entry) -> tuple[SafeString]:
    address = f"pages/{entry['folder']}/"
    picture = format_html('<img src="{}" alt="" loading="lazy">', address + entry["thumbnail"])
    thumb = picture if entry["thumbnail"] else format_html("<span>{}</span>", entry["host"][:1].upper())
    line = (
        '<li><a class="thumb" href="{}index.html" tabindex="-1" aria-hidden="true">{}</a><div class="words">'
        '<h2><a dir="auto" href="{}index.html">{}</a></h2><p class="where">{} · <time>{}</time>{}</p>'
        '<p class="excerpt" dir="auto">{}</p></div>'
    )
    about = entry["host"], entry["date"], tags_of(entry["tags"]), entry["excerpt"]
    return (format_html(line, address, thumb, address, entry["title"], *about),)


def tags_of(tags: Sequence[str]) -> SafeString:
    return format_html_join("", ' <bdi class="tag">#{}</bdi>', ((tag,) for tag in tags))


def _turning(number: int, last: int) -> SafeString:
    if last == 1:
        return SafeString()
    newer = format_html('<a class="button" href="{}">Newer</a>', list_name(number - 1)) if number > 1 else SafeString()
    older = (
        format_html('<a class="button" href="{}">Older</a>', list_name(number + 1)) if number < last else SafeString()
    )
    return format_html('<nav id="turning">{}<span class="soft">{} of {}</span>{}</nav>', newer, number, last, older)


def reading_page(entry: Entry, links: SafeString, content: SafeString) -> str:
    """The article of a page, or what there is instead."""
    body = format_html(
        '{}<main class="reading"><article class="article" dir="auto">{}</article></main>', _head(entry, links), content
    )
    return _document(entry["title"], body, policy=_POLICY, root="../../")


def framed_page(entry: Entry, links: SafeString, file: str) -> str:
    """A saved page in a frame that has no scripts, no origin and no way out."""
    frame = format_html('<iframe sandbox="" referrerpolicy="no-referrer" title="Saved page" src="{}"></iframe>', file)
    body = format_html("{}{}", _head(entry, links), frame)
    return _document(entry["title"], body, policy=_WITH_FRAME, root="../../", name="framed")


def links_to(names: Sequence[tuple[str, str]], current: str) -> SafeString:
    """By label and file name."""
    return format_html_join(
        "", '<a class="button" href="{}"{}>{}</a>',
        ((file, mark_safe(' aria-current="page"') if file == current else "", label) for label, file in names),
    )  # fmt: skip


def _head(entry: Entry, links: SafeString) -> SafeString:
    return format_html(
        '<header class="head"><p><a href="../../index.html">Archived pages</a></p><p class="title" dir="auto">{}</p>'
        '<p class="where"><a href="{}" rel="noreferrer noopener">{}</a> · <time>{}</time>{}</p><nav>{}</nav></header>',
        entry["title"], entry["url"], entry["url"], entry["date"], tags_of(entry["tags"]), links,
    )  # fmt: skip


def _document(title: str, body: SafeString, *, policy: str, root: str = "", name: str = "") -> str:
    return format_html(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="{}">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        '<meta name="referrer" content="no-referrer"><title>{}</title>'
        '<link rel="stylesheet" href="{}site/site.css"></head>'
        '<body class="{}">{}</body></html>\n',
        policy, title, root, name, body,
    )  # fmt: skip
