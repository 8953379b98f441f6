"""Owns how running work is written on pages: pills of hooks, tallies of states."""

import json

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from archivebox.contract.reasons import sentence
from archivebox.core.progress.crawl_progress import COUNTED, COUNTED_IN_LISTS, CrawlProgress, PluginState, Size
from archivebox.crawls.crawl import Crawl
from archivebox.lib.quantities import size
from archivebox.web.crawl.crawl_actions import CrawlAction, actions_of
from archivebox.web.page.capped_counts import at_most
from archivebox.web.templatetags.shown import between

register = template.Library()

_ORDER = {"started": "running", "queued": "waiting", "sealed": "done", "paused": "paused", "cancelled": "not fetched"}
_WORDS = {
    "queued": "waiting", "started": "running", "backoff": "will be retried", "succeeded": "saved",
    "noresults": "no results", "failed": "failed", "skipped": "skipped",
}  # fmt: skip
_FOLDED = {"queued": "waiting", "succeeded": "saved", "noresults": "no results", "skipped": "skipped"}
_KINDS = {"queued": "wait", "started": "busy", "backoff": "wait", "succeeded": "good", "failed": "bad"}


@register.filter
def tally(counts: dict[str, int]) -> list[tuple[str, int]]:
    """Counts by status as words, what runs first; states that nothing is in are left out."""
    return [(word, counts[status]) for status, word in _ORDER.items() if counts.get(status)]


@register.filter
def counted(count: int) -> str:
    """Pages of a crawl, counted as far as that is cheap."""
    return at_most(count, COUNTED)


@register.simple_tag
def crawl_actions(crawl: Crawl, progress: CrawlProgress) -> list[CrawlAction]:
    """What can be done to it, told with the counts as they are now."""
    return actions_of(crawl, progress)


@register.simple_tag
def crawl_title(title: str, progress: CrawlProgress) -> str:
    """The title of a crawl's page, with how far it is while pages are added."""
    begin = f"{counted(progress.done)} of {counted(progress.wanted)} · " if progress.is_open else ""
    return f"{begin}{Truncator(title).chars(60)} \N{EN DASH} ArchiveBox"


@register.filter
def in_list(size: Size) -> str:
    """How many of a crawl's pages are done, where there are many crawls."""
    done, pages = (at_most(count, COUNTED_IN_LISTS) for count in (size.done, size.pages))
    return pages if done == pages else f"{done} of {pages}"


@register.simple_tag
def pill(one: PluginState) -> SafeString:
    """A plugin with its state as shape and word; running ones carry a clock."""
    facts = [_WORDS.get(one.status, one.status)]
    if one.status == "failed" and one.reason:
        facts.append(sentence(one.reason))
    if one.size:
        facts.append(size(one.size))
    if one.start and one.end:
        facts.append(between(one.start, one.end))
    words = ", ".join(facts)
    since = one.start.isoformat() if one.status == "started" and one.start else ""
    clock = format_html(' <small data-since="{}"></small>', since) if since else ""
    return format_html(
        '<li class="pill {}" title="{}">{}<span class="hidden">: {}</span>{}</li>',
        _KINDS.get(one.status, "calm"), words, one.plugin, words, clock,
    )  # fmt: skip


@register.simple_tag
def folded_pill(state: str, plugins: list[str]) -> SafeString:
    """How many plugins are in a state, with their names for those who hover."""
    return format_html(
        '<li class="pill {}" title="{}">{} {}</li>',
        _KINDS.get(state, "calm"), ", ".join(plugins), len(plugins), _FOLDED[state],
    )  # fmt: skip


@register.filter
def why(code: str) -> str:
    """A reason code as a sentence."""
    return sentence(code)


@register.filter("json")
def as_json(value: object) -> str:
    """A setting's value as one would write it."""
    return json.dumps(value, ensure_ascii=False)
