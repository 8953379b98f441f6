"""Owns what a query means in words: "pages of host example.org, added since 1 May 2026"."""

from collections.abc import Callable
from datetime import datetime

from archivebox.search.query.keys import HAS, NO_ANSWER, UNKNOWN, shown_host
from archivebox.search.query.parser import parse
from archivebox.search.query.times import moment
from archivebox.search.query.tree import Either, Every, Field, Node, Not, Result, WordGroup

_STATES = {
    "open": "still to be archived",
    "done": "that are done, with or without success",
    "complete": "that are done without a failure",
    "failed": "with at least one failure",
    "paused": "that are paused",
    "cancelled": "that were cancelled",
    "unfetched": "that were never captured",
    "tagged": "with a tag",
    "latest": "that are the newest version of their URL",
    "seed": "that somebody asked for",
    "lossy": "that are worth capturing again",
    "removed": "that were removed",
    "public": "that are public",
    "private": "that are private",
}
_VISIBILITIES = {
    "public": "that are public",
    "members": "for whoever is logged in",
    "private": "that are private",
}
_STATUSES = {
    "queued": "that wait",
    "started": "that are being archived",
    "sealed": "that are done, with or without success",
    "paused": "that are paused",
    "cancelled": "that were cancelled",
}
_OF_A_RESULT = {
    "succeeded": "{} kept something",
    "noresults": "{} found nothing to keep",
    "failed": "{} failed",
    "skipped": "{} was skipped",
    "backoff": "{} waits for its next try",
    "queued": "{} waits",
    "started": "{} runs",
}
_SIGNS = {"": "", "<": "less than ", "<=": "at most ", ">": "more than ", ">=": "at least "}


def explain(text: str) -> str:
    """One phrase for people; QueryError where the text is no query."""
    tree = parse(text)
    return "all pages" if tree == Every() else f"pages {_phrase(tree)}"


def _phrase(node: Node) -> str:
    match node:
        case WordGroup(words):
            return f"with {_listed([f'“{word}”' for word in words])}"
        case Field(key, value):
            return _OF_KEY[key](value)
        case Result():
            return _of_result(node)
        case Every(parts):
            return ", ".join(map(_phrase, parts)) or "of any kind"
        case Either(parts):
            return "either " + " or ".join(_phrase(part) for part in parts)
        case Not(Every() | Either() as part):
            return f"not ({_phrase(part)})"
        case Not(part):
            return f"not {_phrase(part)}"


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _of_result(result: Result) -> str:
    said = _OF_A_RESULT[result.meant_status]
    because = f" for the reason {result.reason}" if result.reason else ""
    return f"where {said.format(result.plugin or 'something')}{because}"


def _host(value: str) -> str:
    if value.startswith("*."):
        return f"of hosts below {value.removeprefix('*.')}"
    return f"of host {shown_host(value)}"


def _url(value: str) -> str:
    if "://" not in value:
        return f"with “{value}” in the URL"
    return f"whose URL begins with {value[:-1]}" if value.endswith("*") else f"of the URL {value}"


def _day(text: str) -> str:
    when: datetime = moment(text)
    day = f"{when.day} {when:%B %Y}"
    is_whole = (when.hour, when.minute, when.second) == (0, 0, 0)
    return day if is_whole else f"{day}, {when:%H:%M} UTC"


def _quality(value: str) -> str:
    if value == UNKNOWN:
        return "whose replay was not measured"
    sign, number = value.rstrip("0123456789"), value.lstrip("<>=")
    return f"of a quality of {_SIGNS[sign]}{number} %"


def _http(value: str) -> str:
    if value == NO_ANSWER:
        return "whose host did not answer"
    return f"answered with a status of {value}" if value.endswith("xx") else f"answered with status {value}"


_OF_KEY: dict[str, Callable[[str], str]] = {
    "is": lambda value: _STATES[value],
    "host": _host,
    "tag": lambda value: f"tagged “{value}”",
    "title": lambda value: f"with “{value}” in the title",
    "url": _url,
    "text": lambda value: f"with “{value}” in a text",
    "note": lambda value: f"with “{value}” in a note",
    "has": lambda value: f"with {HAS[value]}",
    "after": lambda value: f"added since {_day(value)}",
    "before": lambda value: f"added before {_day(value)}",
    "status": lambda value: _STATUSES[value],
    "visibility": lambda value: _VISIBILITIES[value],
    "type": lambda value: f"of type {value}",
    "mime": lambda value: f"of media type {value}",
    "http": _http,
    "quality": _quality,
    "crawl": lambda value: f"of crawl {value[:8]}",
    "id": lambda value: f"with an id that begins with {value}",
}
