"""Owns what may stand where somebody types: keys, and the values that there are."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from archivebox.base_models.visibility import ViewerScope
from archivebox.contract.reasons import Reason
from archivebox.core.tags.assign_tags import tags_seen_by
from archivebox.hooks import plugins
from archivebox.search.query.keys import KEYS, shown_host
from archivebox.search.query.values import distinct_values

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
