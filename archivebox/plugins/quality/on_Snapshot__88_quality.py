#!/usr/bin/env python3
"""Estimate how much of the page its replay shows: of what it asked for, of the words that it showed, of its article.

Nothing is loaded for it: the recorder's log is read, and the page as it was sent and as it was shown. The replay itself
is measured later, while nothing else runs.
"""

from __future__ import annotations

from pathlib import Path

from resources import can_be_replayed, is_whole, measure_resources
from words import measure_words

from archivebox.plugins.base import Settings, noresults, set_deadline, succeeded
from archivebox.plugins.base.responses import Archive, Response


def main() -> None:
    set_deadline(Settings().timeout("QUALITY"))
    responses = Archive().responses()
    if not any(map(is_page, responses)):
        noresults("nothing of the page was recorded, so there is nothing to compare")
    measures = [measure_resources(responses), *measure_words(Path(".."))]
    lowest = min(percent for one in measures if isinstance(percent := one["percent"], int))
    succeeded(f"about {lowest} %", {"measures": measures})


def is_page(response: Response) -> bool:
    """Whether it is the page's own document, whole, and no redirect to it."""
    is_there = can_be_replayed(response) and is_whole(response)
    return is_there and response.is_main and not response.redirected_to


if __name__ == "__main__":
    main()
