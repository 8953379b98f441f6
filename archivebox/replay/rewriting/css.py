"""Owns the URLs in style sheets (CSS Syntax 3): in ``url(…)``, ``image-set(…)`` and ``@import``, but in comments.

Of the pictures of ``image-set()`` (CSS Images 4, 2.4) those stay that were recorded.
"""

import re
from re import Match

from archivebox.replay.rewriting.links import LinkRewriter

_QUOTED = r"""(?:"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')"""
_NESTED = rf"""\((?:[^"'()]|{_QUOTED})*+\)"""
_IMAGE_SET = rf"""(?P<set>(?:-webkit-)?image-set\()(?P<choices>(?:[^"'()]|{_QUOTED}|{_NESTED})*+)\)"""
"""A pattern of the whole function, for style sheets."""
_CHOICE = re.compile(rf"""(?:[^"'(),]|{_QUOTED}|{_NESTED})++""", re.DOTALL)
_URL = re.compile(rf"""\s*(?:url\(\s*+)?(?P<url>{_QUOTED}|(?<=[(\s])[^"'()\\\s]++)""", re.IGNORECASE | re.DOTALL)
_IS_URL = re.compile(r"""\s*(?:url\(|["'])""", re.IGNORECASE)
_STRING = r"""(?:"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?)"""
_TOKEN = re.compile(
    rf"""/\*.*?(?:\*/|\Z)                                   # a comment
    |@namespace[^;]*                                        # names, never asked for
    |(?P<import>@import\s*+)(?P<sheet>{_QUOTED})
    |{_IMAGE_SET}
    |url\(\s*+(?P<url>{_QUOTED}|(?:[^"'()\\\s]|\\.)*+)\s*+\)
    |(?P<opened>:popover-open|:modal)\b
    |{_STRING}                                              # a string is only text, also one that has no end""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_SPECIAL = re.compile(r"[\"\\<\r\n\f]")
"""What would end a string, or the element in which the style sheet stands."""
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)


def rewrite_css(text: str, links: LinkRewriter) -> str:
    """A style sheet, or the value of a ``style`` attribute, whose URLs lead into the archive."""

    def written(match: Match[str]) -> str:
        if match["set"]:
            return f"{match['set']}{rewrite_css(_recorded_choices(match['choices'], links), links)})"
        if match["url"]:
            return f"url({_quoted(match['url'], links)})"
        if match["sheet"]:
            return f"{match['import']}{_quoted(match['sheet'], links)}"
        if match["opened"] and links.opened:
            return f":is({match[0]},:where({','.join(links.opened)}))"
        return match[0]

    return _TOKEN.sub(written, text)


def _quoted(text: str, links: LinkRewriter) -> str:
    url = links.resource(_ESCAPE.sub(_unescaped, text[1:-1] if text[0] in "\"'" else text))
    return '"' + _SPECIAL.sub(lambda one: f"\\{ord(one[0]):x} ", url) + '"'


def _unescaped(match: Match[str]) -> str:
    if match[1] is None:
        return "" if match[2] == "\n" else str(match[2])
    number = int(match[1], 16)
    return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"


def _recorded_choices(choices: str, links: LinkRewriter) -> str:
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
