"""Owns comparing the markup of pages by what it says, however its templates break lines and indent."""

from __future__ import annotations

import re
from typing import Protocol

_KEPT = re.compile(r"(<(?:pre|textarea)\b.*?</(?:pre|textarea)>)", re.DOTALL)
_TAG = re.compile(r""" ?(<(/?)([a-z][a-z0-9-]*)(?:"[^"]*"|'[^']*'|[^"'<>])*>|<!doctype[^>]*>) ?""", re.IGNORECASE)
_INLINE = {"a", "abbr", "b", "code", "del", "em", "i", "ins", "kbd", "label", "mark", "s", "small", "span", "time"}
"""What has words around it; the space next to everything else is not seen."""


class PageResponse(Protocol):
    @property
    def content(self) -> bytes: ...


def flat(markup: str) -> str:
    """On one line: with one space where words stand apart, and none where a browser shows none."""
    parts = _KEPT.split(markup)
    return "".join(part if number % 2 else _flat(part) for number, part in enumerate(parts))


def page_of(answer: PageResponse) -> str:
    """The flat markup of the page with which Django's own client was answered."""
    return flat(answer.content.decode())


def _flat(markup: str) -> str:
    return _TAG.sub(_without_space, re.sub(r"\s+", " ", markup)).strip()


def _without_space(found: re.Match[str]) -> str:
    tag, closes, name = re.sub(r" (/?>)$", r"\1", found[1]), bool(found[2]), found[3]
    if name not in _INLINE:
        return tag
    before, after = found.string[: found.start()][-1:], found.string[found.end() :][:1]
    begins = " " if found[0][0] == " " and not closes and before != ">" else ""
    ends = " " if found[0][-1] == " " and closes and after != "<" else ""
    return f"{begins}{tag}{ends}"
