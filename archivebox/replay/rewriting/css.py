"""Owns the URLs in style sheets (CSS Syntax 3): in ``url(…)``, ``image-set(…)`` and ``@import``, but in comments."""

import re
from re import Match

from archivebox.replay.rewriting.image_sets import IMAGE_SET, recorded_choices
from archivebox.replay.rewriting.links import LinkRewriter

_QUOTED = r"""(?:"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')"""
_STRING = r"""(?:"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?)"""
_TOKEN = re.compile(
    rf"""/\*.*?(?:\*/|\Z)                                   # a comment
    |@namespace[^;]*                                        # names, never asked for
    |(?P<import>@import\s*+)(?P<sheet>{_QUOTED})
    |{IMAGE_SET}
    |url\(\s*+(?P<url>{_QUOTED}|(?:[^"'()\\\s]|\\.)*+)\s*+\)
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
            return f"{match['set']}{rewrite_css(recorded_choices(match['choices'], links), links)})"
        if match["url"]:
            return f"url({_quoted(match['url'], links)})"
        if match["sheet"]:
            return f"{match['import']}{_quoted(match['sheet'], links)}"
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
