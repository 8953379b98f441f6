"""Owns made-up prose: sentences of the languages of prose.json, the same ones for the same seed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from random import Random


@dataclass(frozen=True)
class Language:
    """Sentences with places for nouns (n), verbs (v) and qualities (q), and what stands between two of them."""

    code: str
    space: str
    direction: str
    sentences: list[str]
    nouns: list[str]
    verbs: list[str]
    qualities: list[str]


def _read() -> dict[str, Language]:
    languages = json.loads(Path(__file__).with_name("prose.json").read_text("utf-8"))
    words = ("nouns", "verbs", "qualities")
    return {
        code: Language(code, **{name: value.split() if name in words else value for name, value in language.items()})
        for code, language in languages.items()
    }


LANGUAGES = _read()
"""By code: ar, de, en, ja, ru, zh."""


class Prose:
    """Sentences in one language, from one seed."""

    def __init__(self, seed: str, language: Language) -> None:
        self.language = language
        self._random = Random(seed)

    def number(self, least: int, most: int) -> int:
        return self._random.randint(least, most)

    def sentence(self) -> str:
        words = self._random.choice(self.language.sentences)
        for place, choice in (("n", self.language.nouns), ("v", self.language.verbs), ("q", self.language.qualities)):
            while f"{{{place}}}" in words:
                words = words.replace(f"{{{place}}}", self._random.choice(choice), 1)
        return words

    def sentences(self, least: int, most: int) -> str:
        return self.language.space.join(self.sentence() for _ in range(self.number(least, most)))

    def phrase(self) -> str:
        """A few words, as headings and links have them."""
        quality, noun = self._random.choice(self.language.qualities), self._random.choice(self.language.nouns)
        return self.language.space.join((quality, noun)).capitalize()
