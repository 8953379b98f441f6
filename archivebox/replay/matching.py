"""Owns which URLs are taken for one another, when a page asks for one that was recorded under a slightly other name.

Three names, tried in order. The URL itself. Then without what does not tell two files apart: scheme, ``www.``, the
order of the query, and parameters that only keep caches from answering. Then, for files whose name says what they are
(a picture, a font, a style sheet), without the query.
"""

import re
from urllib.parse import urlsplit

_BUSTERS = frozenset({"_", "cb", "cachebust", "cachebuster", "cache", "nocache", "no-cache", "rnd", "rand", "random"})
_CLOCKS = frozenset({"t", "ts", "time", "timestamp", "v", "ver", "version"})
"""Cache busters where their value is a number of eight digits or more, which is a time."""
_TIME = re.compile(r"\d{8,}(\.\d+)?")
_CALLBACK = re.compile(r"jQuery(?=\w*+\Z)\w*?\d{8}")
_FILE = re.compile(
    r"\.(css|js|mjs|png|jpe?g|gif|webp|avif|svg|ico|bmp|woff2?|ttf|otf|eot|mp4|webm|mp3|ogg|wav|m4a|vtt)$",
    re.IGNORECASE,
)


def loose(url: str) -> str:
    """The second name of a URL."""
    parts = urlsplit(url)
    query = "&".join(sorted(each for each in parts.query.split("&") if each and not _is_buster(each)))
    return f"{_place(url)}?{query}" if query else _place(url)


def bare(url: str) -> str:
    """The third name; empty where the query may say which of many things it is."""
    place = _place(url)
    return place if _FILE.search(place) else ""


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.netloc.lower().removeprefix('www.')}{parts.path or '/'}"


def _is_buster(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    name = name.lower()
    return name in _BUSTERS or (name in _CLOCKS and bool(_TIME.fullmatch(value))) or bool(_CALLBACK.match(value))
