"""Owns what of a stranger's HTML may stand on a page of the app: text and its structure, and nothing that could run.

nh3 (ammonia) parses as browsers do and writes anew what is on its lists. The Content-Security-Policy of the app, which
lets no inline script, style or foreign request through, is behind it.
"""

from collections.abc import Callable
from html import escape
from urllib.parse import quote, urlsplit

import nh3

from archivebox.lib import html_probe

TEXT = {
    "a", "abbr", "article", "aside", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code", "col",
    "colgroup", "dd", "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "footer", "h1",
    "h2", "h3", "h4", "h5", "h6", "header", "hr", "i", "img", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q",
    "rp", "rt", "ruby", "s", "samp", "section", "small", "span", "strong", "sub", "summary", "sup", "table",
    "tbody", "td", "tfoot", "th", "thead", "time", "tr", "u", "ul", "var", "wbr",
}  # fmt: skip
"""Elements of an article."""
MEDIA = {"audio", "iframe", "source", "track", "video"}
"""And what a plugin's own template may show besides, from the snapshot's own files alone."""
_ATTRIBUTES = {
    "*": {"lang", "dir", "title"},
    "a": {"href"},
    "img": {"src", "alt", "width", "height"},
    "ol": {"start", "reversed"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "time": {"datetime"},
}
_MEDIA_ATTRIBUTES = {
    "audio": {"src", "controls", "preload"},
    "iframe": {"src", "title"},
    "source": {"src", "type"},
    "track": {"src", "kind", "srclang", "label", "default"},
    "video": {"src", "controls", "preload", "poster", "width", "height"},
}
_NEVER = {"script", "style", "title", "template", "noscript", "svg", "math", "form", "select", "textarea", "button"}
_LOADED = {"src", "poster"}


def article(html: str, folder: str, follow: str) -> str:
    """An article for reading: its pictures are those that lie in ``folder`` beside it, its links go by ``follow``.

    Both are addresses with a slash at their end; what comes after the second is a URL, looked for in the archive. One
    that no parser is to read is shown as its source.
    """
    try:
        html_probe.check(html)
    except html_probe.ParserLimitError:
        return f"<pre>{escape(html)}</pre>"
    return nh3.clean(
        html,
        tags=TEXT,
        attributes=_ATTRIBUTES,
        clean_content_tags=_NEVER,
        attribute_filter=_beside(folder, follow),
        url_schemes={"http", "https", "mailto", "data"},
        link_rel="noopener noreferrer nofollow",
    )


def fragment(html: str, base: str, sandbox: str) -> str:
    """What a plugin's template made; it loads files of the snapshot alone, whose address begins with ``base``."""
    classes = {tag: _ATTRIBUTES.get(tag, set()) | _MEDIA_ATTRIBUTES.get(tag, set()) for tag in TEXT | MEDIA}
    return nh3.clean(
        html,
        tags=TEXT | MEDIA,
        attributes={**classes, "*": _ATTRIBUTES["*"] | {"class"}},
        clean_content_tags=_NEVER,
        attribute_filter=_below(base),
        set_tag_attribute_values={"iframe": {"sandbox": sandbox, "referrerpolicy": "no-referrer"}},
        link_rel="noopener noreferrer nofollow",
    )


Filter = Callable[[str, str, str], str | None]


def _beside(folder: str, follow: str) -> Filter:
    def kept(tag: str, attribute: str, value: str) -> str | None:
        if attribute == "href":
            scheme = _scheme(value)
            return follow + value if scheme in {"http", "https"} else value if scheme == "mailto" else None
        if attribute != "src" or value.startswith("data:image/"):
            return value
        is_own = tag == "img" and not _scheme(value) and not value.startswith(("/", "\\"))
        return folder + quote(value) if is_own else None

    return kept


def _scheme(address: str) -> str:
    """In lower case; ``?`` for what cannot be taken apart."""
    try:
        return urlsplit(address).scheme
    except ValueError:
        return "?"


def _below(base: str) -> Filter:
    def kept(_tag: str, attribute: str, value: str) -> str | None:
        return None if attribute in _LOADED and not value.startswith(base) else value

    return kept
