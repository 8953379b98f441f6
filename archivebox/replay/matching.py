"""Owns which URLs are taken for one another, when a page asks for one that was recorded under a slightly other name.

Three names, tried in order. The URL itself. Then without what does not tell two files apart: scheme, ``www.``, the
order of the query, and parameters that only keep caches from answering. Then, for files whose name says what they are
(a picture, a font, a style sheet), without the query.

Scripts that run again make names and times anew: see :func:`fresh_pattern`.
"""

import re
from datetime import datetime
from urllib.parse import unquote, urlsplit

_BUSTERS = frozenset({"_", "cb", "cachebust", "cachebuster", "cache", "nocache", "no-cache", "rnd", "rand", "random"})
_CLOCKS = frozenset({"t", "ts", "time", "timestamp", "v", "ver", "version"})
"""Cache busters where their value is a number of eight digits or more, which is a time."""
_TIME = re.compile(r"\d{8,}(\.\d+)?")
_CALLBACK = re.compile(r"jQuery(?=\w*+\Z)\w*?\d{8}")
RANDOM = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"  # a UUID
    r"|\d{4}-\d\d-\d\dT\d\d(?::|%3A)\d\d(?::|%3A)\d\d[\d.]*(?:Z|[+-]\d\d:?\d\d)?"  # a time as JSON has it
    r"|(?<=\b0\.)\d{6,}"  # a part of one, as Math.random() has it
    r"|\d{10,}(?:\.\d+)?"  # a time, or a number as long as one
    r"|[0-9a-f]{16,}",
    re.IGNORECASE,
)
"""What programs put in where they want a name or a time that nobody else has."""
MADE_HERE = "a5c41fe5"
"""How random names begin that are made in a script view (shim.js): they are told from recorded ones by it."""
_DAY = 24 * 60 * 60
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


def fresh_pattern(url: str, clock: int) -> re.Pattern[str] | None:
    """What a URL is called in the recording that has names and times in it which scripts of a view have just made.

    None: it has none. ``clock``: that of the view, in milliseconds.
    """
    parts, last = [], 0
    for found in RANDOM.finditer(url):
        is_part = url[: found.start()].endswith("0.")
        if is_part or MADE_HERE in found[0].lower() or abs(_seconds(found[0]) - clock / 1000) < _DAY:
            parts += [re.escape(url[last : found.start()]), f"(?:{RANDOM.pattern})"]
            last = found.end()
    return re.compile("".join([*parts, re.escape(url[last:])]), re.IGNORECASE) if parts else None


def _seconds(text: str) -> float:
    """Seconds since 1970 that a number (of whole, milli- or microseconds) or a time means; 0 for neither."""
    whole = text.partition(".")[0]
    if whole.isascii() and whole.isdigit():
        return float(f"{text}e{10 - len(whole)}")
    try:
        return datetime.fromisoformat(unquote(text)).timestamp()
    except ValueError:
        return 0.0


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.netloc.lower().removeprefix('www.')}{parts.path or '/'}"


def _is_buster(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    name = name.lower()
    return name in _BUSTERS or (name in _CLOCKS and bool(_TIME.fullmatch(value))) or bool(_CALLBACK.match(value))
