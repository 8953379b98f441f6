"""Regular expressions that people write."""

import re

import pytest

from archivebox.lib.patterns import compile_patterns

ENDLESS = ["(a+)+$", "(a|aa)+$", "(.*)*x$", "(.*a){20}$", r"(\w+\s?)*!$"]
"""With an engine that tries one way after the other, each takes longer than anybody lives."""


@pytest.mark.parametrize("text", ["(", "[a", "*", "x" * 1_001, "ok\n(?P<", "(?!login)", "(?<=a)b", r"(a)\1"])
def test_a_bad_regular_expression_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="regular expression"):
        compile_patterns(text)


def test_no_patterns_are_none() -> None:
    assert compile_patterns("") == compile_patterns(" \n ") == ()


def test_a_pattern_is_found_anywhere_and_without_regard_to_case() -> None:
    files, host = compile_patterns(r"\.(css|js)(\?.*)?$" + "\n\n" + r"  ^https?://(.+\.)?example\.com/ ")
    assert files.search("https://x.test/a.CSS?v=1")
    assert not files.search("https://x.test/a.css.html")
    assert host.search("HTTP://www.Example.com/")
    assert not host.search("https://x.test/?https://example.com/")


def test_a_url_can_be_named_literally() -> None:
    url = "https://x.test/a(b)?c=[d]&e=+~#f-g.{h}|$%20@!'*,;:"
    (pattern,) = compile_patterns(f"^{re.escape(url)}$")
    assert pattern.search(url)
    assert not pattern.search(url + "i")


@pytest.mark.parametrize("pattern", ENDLESS)
def test_no_pattern_takes_for_ever(pattern: str) -> None:
    (compiled,) = compile_patterns(pattern)
    assert not compiled.search("https://x.test/" + "a" * 2_000 + "?")
