"""Owns what a query says: a text is read into a tree."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product, starmap

from archivebox.search.query.keys import KEYS, PAGE_STATUSES, RESULT_STATUSES


class QueryError(ValueError):
    """The text is no query: a sentence for people, and the character (from 0) at which it goes wrong."""

    def __init__(self, sentence: str, position: int) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.position = position


@dataclass(frozen=True, slots=True)
class WordGroup:
    """Words and phrases that stand together: all of them in title, URL and tags, or all of them in one text."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """Something that a page is or has: ``host:example.org``."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Result:
    """A page has a result that is all of this; empty: whatever it may be. ``plugin:wget status:failed``."""

    plugin: str = ""
    status: str = ""
    reason: str = ""

    @property
    def meant_status(self) -> str:
        """Without a word of it: a plugin is named for what it kept, a reason for what failed."""
        return self.status or ("failed" if self.reason else "succeeded")


@dataclass(frozen=True, slots=True)
class Every:
    """All of the parts hold; of none, anything."""

    parts: tuple["Node", ...] = ()


@dataclass(frozen=True, slots=True)
class Either:
    """At least one of the parts holds."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: "Node"


Node = WordGroup | Field | Result | Every | Either | Not


MOST_CHARACTERS = 2_000
MOST_PARTS = 100
"""Words, keys and signs of one query; also how deep its brackets go at most."""

_BARE = r"[^\s()\"]+(?:\([^\s()\"]*\)[^\s()\"]*)*"  # brackets inside a word belong to it: wiki/Pear_(fruit)
_VALUE = rf'"[^"]*"|{_BARE}'
_TOKEN = re.compile(
    rf"""(?P<space>\s+)
    | (?P<open>\() | (?P<close>\))
    | (?P<minus>-(?=[^\s)]))
    | \#(?P<tag>{_VALUE})
    | (?P<key>[A-Za-z]+):(?!//)(?P<value>{_VALUE})?
    | (?P<word>{_VALUE})""",
    re.VERBOSE,
)
_WORDS_OF_THE_LANGUAGE = ("and", "or", "not")


@dataclass(frozen=True, slots=True)
class _Token:
    """``kind``: open, close, minus, and, or, not, word, end, or the name of a key."""

    kind: str
    value: str
    position: int


def parse(text: str) -> Node:
    """What a query says; QueryError where it is none. An empty one says nothing: every page."""
    if len(text) > MOST_CHARACTERS:
        raise QueryError(f"A query has at most {MOST_CHARACTERS:,} characters.", MOST_CHARACTERS)
    tokens = list(_tokens(text))
    if len(tokens) > MOST_PARTS:
        raise QueryError(f"A query has at most {MOST_PARTS} parts.", tokens[MOST_PARTS].position)
    return _Parser(tokens).whole()


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise QueryError("This quotation mark has no second one.", position)
        if not found["space"]:
            yield _token(found)
        position = found.end()
    yield _Token("end", "", len(text))


def _token(found: "re.Match[str]") -> _Token:
    if found["key"]:
        return _key_token(found)
    if found["tag"]:
        return _Token("tag", _unquoted(found["tag"]), found.start())
    if found["word"]:
        word = found["word"]
        kind = word.lower() if word.lower() in _WORDS_OF_THE_LANGUAGE else "word"
        return _Token(kind, _unquoted(word), found.start())
    kind = next(name for name in ("open", "close", "minus") if found[name])
    return _Token(kind, found[0], found.start())


def _key_token(found: "re.Match[str]") -> _Token:
    name, value = found["key"].lower(), _unquoted(found["value"] or "")
    if name not in KEYS:
        near = difflib.get_close_matches(name, KEYS, 1)
        hint = f"did you mean {near[0]}: ?" if near else f"there are {', '.join(f'{key}:' for key in KEYS)}."
        sentence = f'"{name}:" is not a key; {hint} To look for it as a word, put it in quotation marks.'
        raise QueryError(sentence, found.start())
    if not value:
        raise QueryError(f"{name}: needs a value right behind it, such as {KEYS[name].example}.", found.end())
    try:
        return _Token(name, KEYS[name].read(value), found.start())
    except ValueError as error:
        raise QueryError(f"{name}: {error}", found.start("value")) from None


def _unquoted(value: str) -> str:
    return " ".join(value.strip('"').split())


class _Parser:
    """Recursive descent: one method for each line of the grammar."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _accept(self, *kinds: str) -> _Token | None:
        token = self._next
        if token.kind not in kinds:
            return None
        self._at += 1
        return token

    def whole(self) -> Node:
        if self._next.kind == "end":
            return Every()
        node = self._either()
        if self._next.kind == "close":
            raise QueryError("This bracket closes none.", self._next.position)
        return node

    def _either(self) -> Node:
        parts = [self._every()]
        while self._accept("or"):
            parts.append(self._every())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _every(self) -> Node:
        parts = [self._part()]
        while self._next.kind not in ("or", "close", "end"):
            self._accept("and")
            parts.append(self._part())
        return _together(parts)

    def _part(self) -> Node:
        token = self._next
        if self._accept("not", "minus"):
            return Not(_together([self._part()]))
        if self._accept("open"):
            return self._bracketed(token)
        if token.kind in ("and", "or", "close", "end"):
            raise QueryError(_missing(self._tokens, self._at), token.position)
        self._at += 1
        return WordGroup((token.value,)) if token.kind == "word" else Field(token.kind, token.value)

    def _bracketed(self, opened: _Token) -> Node:
        node = self._either()
        if not self._accept("close"):
            raise QueryError("This bracket is never closed.", opened.position)
        return node


def _missing(tokens: Sequence[_Token], at: int) -> str:
    before = f"behind {tokens[at - 1].value!r}" if at else "at the beginning"
    return f"A search term is missing {before}."


def _together(parts: Sequence[Node]) -> Node:
    """What of these parts speaks of one thing becomes one: words, and what is said of a result."""
    words = tuple(word for part in parts if isinstance(part, WordGroup) for word in part.words if word)
    of_results = _of_results(parts)
    others = [part for part in parts if not isinstance(part, WordGroup) and part not in of_results]
    together = [*([WordGroup(words)] if words else []), *others, *([_result(of_results)] if of_results else [])]
    return together[0] if len(together) == 1 else Every(tuple(together))


def _of_results(parts: Sequence[Node]) -> list[Field]:
    """``status:queued`` speaks of a page, unless a plugin or reason stands beside it."""
    fields = [part for part in parts if isinstance(part, Field) and part.key in ("plugin", "status", "reason")]
    is_named = any(one.key != "status" for one in fields)
    statuses = RESULT_STATUSES if is_named else RESULT_STATUSES.keys() - PAGE_STATUSES.keys()
    return [one for one in fields if one.key != "status" or one.value in statuses]


def _result(fields: Sequence[Field]) -> Node:
    """One result that is all of it; where a key is there twice, one for each of its values."""
    plugins, statuses, reasons = (
        [one.value for one in fields if one.key == key] or [""] for key in ("plugin", "status", "reason")
    )
    results = tuple(starmap(Result, product(plugins, statuses, reasons)))
    return results[0] if len(results) == 1 else Every(results)
