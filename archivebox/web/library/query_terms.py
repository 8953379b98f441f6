"""Owns adding a term to the text of a query, and taking one away."""

import re
from collections.abc import Iterable

_WORD = re.compile(r'(?:[^\s"]*"[^"]*"?)+|\S+')
_QUOTED = re.compile(r'"[^"]*"?')


def terms(text: str) -> list[str]:
    """``#"two words" not (a or b)`` → two: a quoted part keeps its spaces, brackets and ``not`` what they belong to."""
    found: list[str] = []
    begun: list[str] = []
    for word in _WORD.findall(text):
        begun.append(word)
        bare = _QUOTED.sub("", " ".join(begun))
        if bare.count("(") <= bare.count(")") and word.lower() != "not":
            found.append(" ".join(begun))
            begun = []
    return [*found, " ".join(begun)] if begun else found


def has(text: str, wanted: str) -> bool:
    """Whether all terms of ``wanted`` have to hold of what ``text`` finds; of two that ``or`` joins, neither has."""
    known = terms(text)
    return not _is_either(known) and set(terms(wanted)) <= set(known)


def toggled(text: str, wanted: str, keys: Iterable[str] = ()) -> str:
    """``text`` without the terms of ``wanted`` if it has them; else with them.

    They take the place of their opposites, and of terms with one of ``keys``.
    """
    new, old = terms(wanted), [term for term in terms(text) if term.lower() != "and"]
    if has(text, wanted):
        return " ".join(term for term in old if term not in new)
    if _is_either(old):
        return f"({text}) {wanted}"
    opposites = {sign + term for term in new for sign in ("-", "not ")}
    left = [term for term in old if not term.startswith(tuple(keys)) and term not in opposites]
    return " ".join([*left, wanted])


def _is_either(known: list[str]) -> bool:
    return any(term.lower() == "or" for term in known)
