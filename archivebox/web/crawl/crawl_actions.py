"""Owns what can be done to a crawl as it is, and what each action would come to."""

from dataclasses import dataclass

from archivebox.core.progress.crawl_progress import COUNTED, CrawlProgress
from archivebox.crawls.crawl import Crawl
from archivebox.web.page.capped_counts import at_most


@dataclass(frozen=True, slots=True)
class CrawlAction:
    """Something that can be done to a crawl now, and what it would come to."""

    name: str
    label: str
    what: str
    is_grave: bool = False


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
        actions.append(CrawlAction("resume", "Continue", "Queues the pages that were not fetched."))
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
