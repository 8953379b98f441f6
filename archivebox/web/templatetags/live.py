"""Owns how running work is written on pages: pills of hooks, tallies of states, what can be done."""

import json
from dataclasses import dataclass

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from archivebox.contract.reasons import sentence
from archivebox.core.progress.crawl_progress import COUNTED, COUNTED_IN_LISTS, STOPPED, CrawlProgress, PluginState, Size
from archivebox.crawls.crawl import Crawl
from archivebox.lib.quantities import size
from archivebox.web.page.list_paging import at_most
from archivebox.web.templatetags.shown import between

register = template.Library()


@dataclass(frozen=True, slots=True)
class CrawlAction:
    """Something that can be done to a crawl now, and what it would come to."""

    name: str
    label: str
    what: str
    is_grave: bool = False


@register.simple_tag(name="crawl_actions")
def actions_of(crawl: Crawl, progress: CrawlProgress) -> list[CrawlAction]:
    """What can be done to the crawl as it is, each with the pages that it would touch."""
    left = _pages(progress.running + progress.waiting + progress.counts.get("paused", 0))
    actions: list[CrawlAction] = []
    if crawl.status in Crawl.OPEN:
        back = f"Puts {_pages(progress.running)} at work back in the queue. Nothing is lost."
        actions.append(CrawlAction("pause", "Pause", back))
    if crawl.status == Crawl.StatusChoices.PAUSED:
        actions.append(CrawlAction("resume", "Resume", f"Fetches {left}."))
    if crawl.status in {*Crawl.OPEN, Crawl.StatusChoices.PAUSED}:
        actions.append(CrawlAction("cancel", "Stop", f"Leaves {left} unfetched; keeps {_pages(progress.done)}."))
    if crawl.status == Crawl.StatusChoices.CANCELLED:
        actions.append(CrawlAction("resume", "Resume", "Queues the pages that were not fetched."))
    if progress.total:
        what = f"Ends the crawl and removes all of its {_pages(progress.total)} from the library. "
        undo = "You can restore them here until they are deleted permanently."
        actions.append(CrawlAction("discard", "Discard", what + undo, is_grave=True))
    elif crawl.snapshot_set.exists():
        what = "Returns its pages to the library and fetches the rest."
        actions.append(CrawlAction("resume", "Restore", what))
    return actions


def _pages(count: int) -> str:
    return f"{at_most(count, COUNTED)} page{'' if count == 1 else 's'}"


_ORDER = {"started": "running", "queued": "waiting", "sealed": "done", "paused": "paused", STOPPED: STOPPED,
          "cancelled": "not fetched"}  # fmt: skip
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
