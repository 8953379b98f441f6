"""Owns what a query says, as a tree."""

from dataclasses import dataclass


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
