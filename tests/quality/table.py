"""Owns the table of the quality of pages, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from tests.quality.acts import LABELS
from tests.quality.measure import FORMATS, Measured
from tests.quality.pywb import Read
from tests.quality.score import MOST_TILES, MOST_WORDS, Score

TITLES = {
    "picture": "picture",
    "singlefile": "SingleFile",
    "pdf": "PDF",
    "replay": "replay",
    "scripts": "replay with scripts",
    "article": "article",
    "pywb": "pywb",
}
OURS = ("replay", "scripts")
"""What pywb is compared with: the better of these."""


def rows(measured: Sequence[Measured]) -> list[str]:
    """The table: a line a page."""
    head = ["page", "two live loads", *(TITLES[name] for name in FORMATS), "own score", "opens first", "good"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for one in measured:
        cells = [_cell(one.scores.get(name), is_first=name == one.first) for name in FORMATS]
        line = [
            f"`{one.sample.path}`",
            _cell(one.noise),
            *cells,
            _own(one),
            TITLES.get(one.first, one.first),
            _good(one),
        ]
        lines.append(f"| {' | '.join(line)} |")
    return lines


def _own(one: Measured) -> str:
    """What the program says: of the replay, and of it with scripts."""
    page = one.captured
    return " / ".join("?" if value is None else str(value) for value in (page.quality, page.with_scripts))


def _good(one: Measured) -> str:
    if not one.sample.is_page:
        return "not the page: " + one.captured.verdict
    return "no" if one.misses() else "yes"


def _cell(score: Score | None, *, is_first: bool = False) -> str:
    if score is None:
        return "none"
    parts = [_percent(value) for value in (score.tiles, score.words) if value is not None]
    text = " / ".join(parts)
    if score.tiles is None:
        text = f"words {text}"
    elif score.words is None:
        text = f"tiles {text}"
    if score.missing:
        text += f", {score.missing} missing"
    if score.violations:
        text += f", {score.violations} forbidden"
    failed = [LABELS[name] for name, worked in score.acts.items() if not worked]
    if failed:
        text += f", no {', no '.join(failed)}"
    return f"**{text}**" if is_first else text


def _percent(value: float) -> str:
    return "0" if value < 0.05 else f"{value:.1f}"


def defects(measured: Sequence[Measured]) -> list[str]:
    """What misses the thresholds, a line a page."""
    pages = [one for one in measured if one.sample.is_page]
    return [f"* `{one.sample.path}`: {'; '.join(one.misses())}" for one in pages if one.misses()]


def behind(measured: Sequence[Measured]) -> list[str]:
    """Where pywb shows more of a page than both of our replays, a line a page."""
    lines = []
    for one in measured:
        theirs, ours = one.scores.get("pywb"), [score for name in OURS if (score := one.scores.get(name))]
        if theirs is not None and one.sample.is_page and all(score.is_worse_than(theirs) for score in ours):
            lines.append(
                f"* `{one.sample.path}`: pywb {_cell(theirs)}; ours {' and '.join(map(_cell, ours)) or 'none'}"
            )
    return lines


def page(measured: Sequence[Measured], readers: Sequence[Read], versions: str, pywb: str) -> str:
    """The whole page of documentation."""
    pages = [one for one in measured if one.sample.is_page]
    good = sum(not one.misses() for one in pages)
    bad = [read for read in readers if read.problem]
    days = sorted({one.day for one in measured if one.day})
    when = f"Measured {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else "Measured"
    parts = [
        INTRODUCTION.format(most_tiles=MOST_TILES, most_words=MOST_WORDS),
        f"{when} with {versions}. {good} of {len(pages)} pages are within the thresholds. {pywb}".strip(),
        "\n".join(rows(measured)),
        "## What is beyond the thresholds",
        "\n".join(defects(measured)) or "Nothing.",
        "## Where pywb shows more",
        "\n".join(behind(measured)) or ("Nowhere." if not pywb else "Not measured."),
        "## Other readers of the WARC files",
        _read_by_others(readers, bad),
    ]
    return "\n\n".join(parts) + "\n"


def _read_by_others(readers: Sequence[Read], bad: Sequence[Read]) -> str:
    if not readers:
        return "Not measured."
    records = sum(read.records for read in readers)
    if not bad:
        return (
            f"FastWARC and warcio read all {len(readers)} files to their ends, and find the same {records:,} records."
        )
    return "\n".join(f"* {read.path.rpartition('/')[2]}: {read.problem}" for read in bad)


INTRODUCTION = """# How well pages are kept

<!-- Written by `make quality`. -->

`make quality` archives pages of the local web (`tests/site`) with all that is on by default, looks at each format as
the application shows it, and compares that with the live page: in a window of 1440 by 900 pixels, in the same browser.
Pages that live by scripts are judged with scripts as well.

A cell has the percentage of **tiles** that differ, and that of **words** that are lost. Tiles are squares of 16 pixels,
without those that are plain background; words are those that are laid out and can be seen, in frames and shadow roots
too. A PDF and an article are judged by words alone, the article by those of the page's main part, without the numbers
of its lists. *missing*: addresses that were asked for in vain, and came in the live page. *forbidden*: what the
replay's policy did not let scripts do.

*Own score* is what the program says by itself of its replay, in percent, without and with scripts.

**Bold** is what is opened first: at most {most_tiles:g} % of its tiles may differ, and {most_words:g} % of the words be
lost; nothing may be missing or forbidden. The same holds for the replay with scripts of a page that lives by them;
there a reader also asks for data that was recorded, changes the route, and loads a deep route again. A PDF and an
article may lose as many words, unless they say that they are cut. Where pywb shows more than both replays, the command
fails, as it does where a page is beyond the thresholds."""
