"""Regular expressions that people write. Whatever they say, a search takes time in proportion to the text alone."""

from typing import Protocol

import re2

MAX_LENGTH = 1_000
"""Characters of the longest one that is taken."""


class Pattern(Protocol):
    """A regular expression, ready to be searched for."""

    @property
    def pattern(self) -> str: ...

    def search(self, text: str) -> object | None: ...


def compile_patterns(text: str) -> tuple[Pattern, ...]:
    """Regular expressions, one a line, found anywhere and without regard to case; ValueError names a bad one."""
    return tuple(_compile(line.strip()) for line in text.splitlines() if line.strip())


def _compile(pattern: str) -> Pattern:
    if len(pattern) > MAX_LENGTH:
        raise ValueError(f"a regular expression has {len(pattern):,} characters; {MAX_LENGTH:,} is the most")
    try:
        compiled: Pattern = re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        why = error.args[0].decode("utf-8", "replace")
        raise ValueError(f"{pattern!r} is not a regular expression that RE2 supports: {why}") from None
    return compiled


_OPTIONS = re2.Options()
_OPTIONS.case_sensitive = False
_OPTIONS.log_errors = False
