"""Owns reading a question: words and phrases as people type them."""

import re

MOST_WORDS = 20
"""Words of one question that count."""
_WORD = re.compile(r'"([^"]*)"|(\S+)')


def parse_words(text: str) -> list[str]:
    """``one "two three"`` → a word and a phrase; a ``*`` at the end of a word makes it a beginning."""
    found = (quoted or bare for quoted, bare in _WORD.findall(text))
    return [word for word in (" ".join(one.split()) for one in found) if word][:MOST_WORDS]
