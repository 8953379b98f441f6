"""How many of the words that were shown replay has, where no script runs: those of the page as it was sent."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from archivebox.plugins.base.html_text import html_to_text
from archivebox.plugins.base.stored_html import find_page, find_sent_page

if TYPE_CHECKING:
    from pathlib import Path

WORD = re.compile(r"\w+")
MAX_SIZE = 20_000_000  # bytes of an article


def measure_words(snapshot_folder: Path) -> list[dict[str, object]]:
    """The measures: of all words of the page, and of its article where one was found."""
    sent, shown = find_sent_page(snapshot_folder), find_page(snapshot_folder)
    if sent is None or shown is None or not shown.source.startswith("dom/"):
        return [_unknown("text", "Not compared: this needs both the server's response and the saved page.")]
    there = html_to_text(sent.html)
    measures = [_measure("text", "the words that the page showed", html_to_text(shown.html), there)]
    article = snapshot_folder / "article" / "article.txt"
    if article.is_file() and article.stat().st_size <= MAX_SIZE:
        text = article.read_text("utf-8", "replace")
        measures.append(_measure("article", "the words of the article", text, there))
    return measures


def _measure(name: str, what: str, shown: str, there: str) -> dict[str, object]:
    percent = share(shown, there)
    if percent is None:
        return _unknown(name, "Nothing to compare: the page showed no words.")
    if percent == 100:
        return {"name": name, "percent": percent, "sentence": f"All {what.removeprefix('the ')} are in its replay."}
    sentence = (
        f"{percent} % of {what} are in the page as it was sent; scripts, which are off in replay, wrote the rest."
    )
    return {"name": name, "percent": percent, "sentence": sentence}


def _unknown(name: str, sentence: str) -> dict[str, object]:
    return {"name": name, "percent": None, "sentence": sentence}


def share(shown: str, there: str) -> int | None:
    """How many in a hundred of the words of one text another has, each as often; None: it has no words."""
    words = _words(shown)
    common = words & _words(there)
    return 100 * common.total() // words.total() if words else None


def _words(text: str) -> Counter[str]:
    return Counter(WORD.findall(text.casefold()))
