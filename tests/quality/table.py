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
        return f"not the page ({one.captured.verdict})"
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
        f"{when} with {versions}. {good} of {len(pages)} pages are good. {pywb}".strip(),
        "\n".join(rows(measured)),
        "## Pages that are not good",
        "\n".join(defects(measured)) or "None.",
        "## Pages of which pywb shows more",
        "\n".join(behind(measured)) or ("None." if not pywb else "Not measured."),
        "## Other readers of our WARC files",
        _read_by_others(readers, bad),
    ]
    return "\n\n".join(parts) + "\n"


def _read_by_others(readers: Sequence[Read], bad: Sequence[Read]) -> str:
    if not readers:
        return "Not measured."
    records = sum(read.records for read in readers)
    if not bad:
        return f"FastWARC and warcio read all {len(readers)} files to the end and find the same {records:,} records."
    return "\n".join(f"* {read.path.rpartition('/')[2]}: {read.problem}" for read in bad)


INTRODUCTION = """# Quality of archived pages

<!-- Written by `make quality`. -->

`make quality` archives the pages of a local test site (`tests/site`) with the default settings. It opens each
format in the application and compares it with the live page, in the same browser and in a window of 1440 by 900
pixels. For pages that scripts build, it also compares the replay with scripts.

A cell shows which percentage of the **tiles** differs and which percentage of the **words** is lost. Tiles are
squares of 16 by 16 pixels; those with nothing but background are not counted. Words are those that can be seen,
including text in frames and shadow roots. PDFs and articles are compared by words only; for an article these
are the words of the page's main part, without the numbers of lists. *missing*: addresses that the replay
requested and did not find, although the live page got a response. *forbidden*: what scripts attempted and the
replay's policy blocked.

*Own score* is ArchiveBox's own measurement of its replay in percent, without and with scripts; *?*: not
measured.

**Bold** marks the format that ArchiveBox opens first. A page is *good* if in that format at most {most_tiles:g}
% of the tiles differ, at most {most_words:g} % of the words are lost, and nothing is missing or forbidden. For
pages that scripts build, the replay with scripts has to meet the same thresholds, and a visitor must be able to
load recorded data, change the route, and reload a deep route. A PDF or an article may lose as many words,
unless it says that it is cut. `make quality` fails if a page is not good, or if pywb shows more of a page than
both replays."""
