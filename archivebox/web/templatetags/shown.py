"""Owns how times, sizes, statuses and formats are written on pages."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any
from urllib.parse import urlencode

from django import template
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from archivebox.contract.formats import Format, FormatKind
from archivebox.contract.hooknames import parse_hook_name
from archivebox.contract.verdicts import State
from archivebox.core.outputs.replay_quality import LEAST_GOOD
from archivebox.lib import quantities
from archivebox.search.facets import quoted
from archivebox.search.finding import Match
from archivebox.web.page.cards import Mark
from archivebox.web.page.visibility_form import ICONS as SEEN_BY_ICONS
from archivebox.web.page.visibility_form import SEEN_BY
from archivebox.web.snapshot.plugin_templates import title_of

register = template.Library()

ICONS = "web/vendor/lucide.svg"
_KINDS = {
    "succeeded": "good", "sealed": "good", "exited": "calm", "failed": "bad", "cancelled": "calm", "skipped": "calm",
    "noresults": "calm", "started": "busy", "running": "busy", "queued": "wait", "backoff": "wait", "paused": "wait",
    State.KEPT: "good", State.PARTLY: "wait", State.NOTHING: "bad", State.REFUSED: "bad",
    State.WAITING: "wait",
}  # fmt: skip
_WORDS = {
    "queued": "waiting",
    "sealed": "done",
    "started": "running",
    "noresults": "no results",
    "backoff": "will retry",
    State.KEPT: "archived",
    State.PARTLY: "partly archived",
    State.NOTHING: "not archived",
}


@register.simple_tag
@cache
def icon(name: str) -> SafeString:
    """A sign of the sprite :data:`ICONS`, beside a word or within a label: screen readers pass over it."""
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>', static(ICONS), name)


@register.filter
def listed(value: object) -> str:
    """A list with commas between, anything else as it is."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@register.filter
def highlighted(match: Match) -> SafeString:
    """What was found in a page, with the words that were searched for marked."""
    parts, shown = [], 0
    for start, end in match.highlights:
        parts.append(format_html("{}<mark>{}</mark>", match.snippet[shown:start], match.snippet[start:end]))
        shown = end
    return format_html("{}{}", mark_safe("".join(parts)), match.snippet[shown:])  # noqa: S308 - each part is escaped


@register.filter
def number(count: int) -> str:
    """``12,345``."""
    return f"{count:,}"


@register.simple_tag
@cache
def seen_by_mark(visibility: str) -> SafeString:
    """A quiet sign of who sees something, with its words for those who hover or listen."""
    words = f"visible to {seen_by_whom(visibility)}"
    sign = icon(SEEN_BY_ICONS[visibility])
    return format_html('<span class="seen-by" title="{}">{}<span class="hidden">{}</span></span>', words, sign, words)


@register.simple_tag
@cache
def quality_mark(percent: int | None) -> SafeString | str:
    """Nothing but where a page's replay shows little of it."""
    if percent is None or percent >= LEAST_GOOD:
        return ""
    words = f"The replay shows {percent} % of the page"
    return format_html('<span class="lacks" title="{}">{}replay {} %</span>', words, icon("scan-text"), percent)


@register.filter
def with_commands(sentence: str) -> SafeString:
    """A sentence with what stands between `backticks` as code."""
    parts = (format_html("<code>{}</code>", part) if at % 2 else part for at, part in enumerate(sentence.split("`")))
    return format_html_join("", "{}", ((part,) for part in parts))


@register.filter
def seen_by_whom(visibility: str) -> str:
    """Who sees something, in words."""
    return dict(SEEN_BY)[visibility]


@register.simple_tag
def badge(status: str) -> SafeString:
    """A status as a word and a colour; the colour never says more than the word."""
    return format_html('<span class="badge {}">{}</span>', kind(status), word(status))


@register.filter
def kind(status: str) -> str:
    """Which colour and shape a status has: good, bad, busy, wait or calm."""
    return _KINDS.get(status, "calm")


@register.filter
def word(status: str) -> str:
    """What people call a status."""
    return _WORDS.get(status, status)


@register.simple_tag
def moment(value: datetime | None) -> SafeString | str:
    """``2026-01-31 12:00``, with the exact moment in UTC for machines and on hovering."""
    if value is None:
        return ""
    exact = value.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        exact.isoformat(), f"{exact:%Y-%m-%d %H:%M:%S}", f"{exact:%Y-%m-%d %H:%M}",
    )  # fmt: skip


@register.simple_tag
def marks(shown: Sequence[Mark]) -> SafeString:
    """What was kept, as signs that read as words. A list of 60 has hundreds: they are made once."""
    return _marks(tuple(shown))


@cache
def _marks(shown: tuple[Mark, ...]) -> SafeString:
    words = ", ".join(mark.word for mark in shown) or "nothing"
    signs = format_html_join("", '<span title="{}">{}</span>', ((mark.word, icon(mark.icon)) for mark in shown))
    return format_html('<span class="marks" role="img" aria-label="Saved: {}">{}</span>', words, signs)


@register.simple_tag
def day(value: datetime) -> SafeString:
    """``2026-01-31``, with the exact moment for machines and on hovering."""
    exact = value.astimezone(UTC)
    shown = (f"{exact:%Y-%m-%d}", exact.isoformat(), f"{exact:%Y-%m-%d %H:%M:%S}")
    return format_html('<time datetime="{1}" title="{2} UTC">{0}</time>', *shown)


@register.simple_tag
@lru_cache(maxsize=1_000)
def query_link(key: str, value: str) -> str:
    """Address of the Library with one term: ``{% query_link '#' name %}``, ``{% query_link 'host' name %}``.

    The pages of a list have few tags.
    """
    term = f"{key if key == '#' else f'{key}:'}{quoted(value)}"
    return f"{reverse('snapshots')}?{urlencode({'q': term})}"


@register.filter
def span(seconds: float | None) -> str:
    """``0.4 s``, ``12 s``, ``3 min 5 s``, ``2 h 10 min``."""
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@register.filter
def roughly(seconds: float) -> str:
    """``a few seconds``, ``about 30 s``, ``about 4 min``, ``about 2 h``, ``about 3 days``: a guess has no decimals."""
    if seconds <= 5:
        return "a few seconds"
    for most, unit, name in ((50, 10, "s"), (3_540, 60, "min"), (129_600, 3_600, "h")):
        if seconds <= most:
            count = math.ceil(seconds / unit)
            return f"about {count * 10 if name == 's' else count} {name}"
    return f"about {math.ceil(seconds / 86_400)} days"


@register.filter
def pace(a_minute: float) -> str:
    """``5 pages a minute``; of slow ones ``12 pages an hour``."""
    count, period = (round(a_minute), "a minute") if a_minute >= 1 else (math.ceil(a_minute * 60), "an hour")
    return f"{count} page{'' if count == 1 else 's'} {period}"


@register.filter
def between(start: datetime | None, end: datetime | None) -> str:
    return "" if start is None else span(((end or timezone.now()) - start).total_seconds())


register.filter("size", quantities.size)
register.filter("plugin_title", title_of)


# --- formats of a page ---------------------------------------------------------------------------------------------

_SIGNS: dict[FormatKind, str] = {
    FormatKind.REPLAY: "archive",
    FormatKind.PAGE: "globe",
    FormatKind.PICTURE: "image",
    FormatKind.PDF: "file-text",
    FormatKind.MEDIA: "film",
    FormatKind.READER: "book-open",
    FormatKind.TEXT: "text",
    FormatKind.HEADERS: "list",
    FormatKind.RESPONSES: "network",
    FormatKind.EVIDENCE: "shield",
    FormatKind.FILES: "folder-tree",
    FormatKind.DRAWN: "puzzle",
    FormatKind.OTHER: "file",
}


@register.filter
def sign(one: Format) -> str:
    """The icon of a format."""
    return _SIGNS[one.kind]


@register.filter
def of(values: Mapping[Any, str], key: object) -> str:
    """What a mapping has of a key; empty where it has none."""
    return values.get(key, "")


@register.filter
def hookword(hook_name: str | None) -> str:
    """What a hook does, of its file name: ``on_Snapshot__30_navigate.py`` → ``navigate``."""
    name = parse_hook_name(hook_name or "")
    return name.what if name is not None else hook_name or ""
