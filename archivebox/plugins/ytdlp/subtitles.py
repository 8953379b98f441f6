"""The text of subtitles, for search and for readers: without times, marks and what is said twice."""

from __future__ import annotations

import html
import re

_TIMES = re.compile(r"^\s*[\d:.,]+\s*-->.*$")
_COUNT = re.compile(r"^\d+$")
_HEAD = re.compile(r"^(WEBVTT|NOTE|STYLE|REGION|Kind:|Language:)")
_MARKS = re.compile(r"<[^>]*>|\{\\[^}]*\}")


def text_of(subtitles: str) -> str:
    """The lines of WebVTT or SRT in their order; captions that roll say each line two or three times."""
    kept: list[str] = []
    for block in re.split(r"\n\s*\n", subtitles.replace("\r\n", "\n").lstrip("\ufeff")):
        if not _HEAD.match(block):
            kept += [line for line in _spoken(block) if line not in kept[-2:]]
    return "".join(f"{line}\n" for line in kept)


def _spoken(block: str) -> list[str]:
    lines = block.splitlines()
    times = next((index for index, line in enumerate(lines) if _TIMES.match(line)), None)
    if times is None:
        return []
    said = (html.unescape(_MARKS.sub("", line)).strip() for line in lines[times + 1 :])
    return [line for line in said if line and not _COUNT.match(line)]
