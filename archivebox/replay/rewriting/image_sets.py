"""Owns the choice among the pictures of ``image-set()`` (CSS Images 4, 2.4): those that were recorded."""

import re

from archivebox.replay.rewriting.links import LinkRewriter

_QUOTED = r"""(?:"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')"""
_NESTED = rf"""\((?:[^"'()]|{_QUOTED})*+\)"""
IMAGE_SET = rf"""(?P<set>(?:-webkit-)?image-set\()(?P<choices>(?:[^"'()]|{_QUOTED}|{_NESTED})*+)\)"""
"""A pattern of the whole function, for style sheets."""
_CHOICE = re.compile(rf"""(?:[^"'(),]|{_QUOTED}|{_NESTED})++""", re.DOTALL)
_URL = re.compile(rf"""\s*(?:url\(\s*+)?(?P<url>{_QUOTED}|(?<=[(\s])[^"'()\\\s]++)""", re.IGNORECASE | re.DOTALL)
_IS_URL = re.compile(r"""\s*(?:url\(|["'])""", re.IGNORECASE)


def recorded_choices(choices: str, links: LinkRewriter) -> str:
    """What stands between the parentheses, with ``url(…)`` for bare strings, and without what was not recorded.

    All of it where nothing was recorded: what is missing is asked for, and seen to be missing.
    """
    every = [_as_url(found[0]) for found in _CHOICE.finditer(choices)]
    kept = [choice for choice in every if _is_recorded(choice, links)]
    return ",".join(kept or every)


def _as_url(choice: str) -> str:
    """A choice that is named by a string alone, as ``url(…)``; ``type("image/avif")`` behind it stays."""
    text = choice.strip()
    found = re.match(_QUOTED, text, re.DOTALL)
    return choice if found is None else f" url({found[0]}){text[found.end() :]}"


def _is_recorded(choice: str, links: LinkRewriter) -> bool:
    """Whether a choice needs nothing that is missing; a gradient needs nothing."""
    if _IS_URL.match(choice) is None:
        return True
    found = _URL.match(choice)
    text = found["url"].strip("\"'") if found else ""
    if text.lower().startswith("data:"):
        return True
    url = links.absolute(text)
    return bool(url) and links.is_kept(url)
