"""Owns what a query means, as a sentence, and what may stand where somebody types: keys, and their values."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from archivebox.base_models.visibility import ViewerScope
from archivebox.contract.reasons import Reason
from archivebox.core.tags.assign_tags import tags_seen_by
from archivebox.hooks import plugins
from archivebox.search.query.conditions import distinct_values
from archivebox.search.query.keys import HAS, KEYS, NO_ANSWER, UNKNOWN, shown_host
from archivebox.search.query.parser import Either, Every, Field, Node, Not, Result, WordGroup, parse
from archivebox.search.query.times import moment

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


MOST = 12
"""Suggestions at a time."""
_TYPED = re.compile(r'[-(]*(?P<part>(?:#|[A-Za-z]+:)?(?:"[^"]*|[^\s()"]*))$')
_VALUE = re.compile(r'(?P<key>#|[A-Za-z]+:)"?(?P<begun>.*)$', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What to put in place of the characters from ``start`` to ``end``, and what it means."""

    start: int
    end: int
    text: str
    meaning: str


Value = tuple[str, str]
"""A value, and what it means."""


def complete(text: str, cursor: int, scope: ViewerScope) -> list[Suggestion]:
    """What the word before the cursor may become, for who sees so far."""
    found = _TYPED.search(text[:cursor])
    part = found["part"] if found else ""
    start = cursor - len(part)
    return [Suggestion(start, cursor, *value) for value in islice(_values(part, scope), MOST)]


def _values(part: str, scope: ViewerScope) -> Iterator[Value]:
    found = _VALUE.match(part)
    if found is None:
        yield from _keys(part.lower())
        return
    key = "tag" if found["key"] == "#" else found["key"].rstrip(":").lower()
    for value, meaning in _values_of(key, found["begun"], scope):
        quoted = f'"{value}"' if re.search(r"[\s()]", value) else value
        yield f"{found['key']}{quoted}", meaning


def _keys(begun: str) -> Iterator[Value]:
    for name, key in KEYS.items():
        shown = "#" if name == "tag" else f"{name}:"
        if shown.startswith(begun):
            yield shown, key.meaning


def _values_of(key: str, begun: str, scope: ViewerScope) -> Iterator[Value]:
    if key in _FROM_ROWS:
        yield from _FROM_ROWS[key](begun, scope)
    elif key in _FROM_PLUGINS:
        yield from _FROM_PLUGINS[key](begun)
    elif key in KEYS:
        for value, meaning in KEYS[key].choices.items():
            if value.startswith(begun.lower()):
                yield value, meaning


def _tags(begun: str, scope: ViewerScope) -> Iterator[Value]:
    """Those that begin so, then those that have it somewhere."""
    names = tags_seen_by(scope).order_by("name").values_list("name", flat=True)
    firsts = list(names.filter(name__istartswith=begun)[:MOST])
    others = names.filter(name__icontains=begun).exclude(name__istartswith=begun)[: MOST - len(firsts)]
    for name in [*firsts, *others]:
        yield name, ""


def _hosts(begun: str, scope: ViewerScope) -> Iterator[Value]:
    for domain in distinct_values("domain", begun.lower().replace(":", "_"), scope):
        yield shown_host(domain), ""


def _media_types(begun: str, scope: ViewerScope) -> Iterator[Value]:
    for name in distinct_values("mime_type", begun.lower(), scope):
        if name:
            yield name, ""


def _plugins(begun: str) -> Iterator[Value]:
    for name, plugin in sorted(plugins().items()):
        if name.startswith(begun.lower()):
            yield name, plugin.title


def _reasons(begun: str) -> Iterator[Value]:
    for reason in Reason:
        if reason.value.startswith(begun.lower()):
            yield reason.value, reason.sentence


_FROM_ROWS: dict[str, Callable[[str, ViewerScope], Iterator[Value]]] = {
    "tag": _tags,
    "host": _hosts,
    "mime": _media_types,
}
_FROM_PLUGINS: dict[str, Callable[[str], Iterator[Value]]] = {
    "plugin": _plugins,
    "reason": _reasons,
}
