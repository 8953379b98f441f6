"""Owns adding a term to the text of a query, and taking one away."""

import re
from collections.abc import Iterable

_TERM = re.compile(r'(?:[^\s"]*"[^"]*"?)+|\S+')


def terms(text: str) -> list[str]:
    """``#"two words" host:a.example`` → two; a quoted part keeps its spaces."""
    return _TERM.findall(text)


def has(text: str, wanted: str) -> bool:
    """Whether all terms of ``wanted`` stand in ``text``."""
    return set(terms(wanted)) <= set(terms(text))


def toggled(text: str, wanted: str, keys: Iterable[str] = ()) -> str:
    """``text`` without the terms of ``wanted`` if it has them; else with them, in place of those with such a key."""
    new, old = terms(wanted), terms(text)
    if has(text, wanted):
        return " ".join(term for term in old if term not in new)
    left = " ".join(term for term in old if not term.startswith(tuple(keys)))
    if "or" in left.lower().split():
        left = f"({left})"
    return f"{left} {wanted}".strip()
