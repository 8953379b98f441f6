"""The query language: what a text says, and what it says in words."""

import pytest

from archivebox.search.query import QueryError, explain, parse
from archivebox.search.query.conditions import _OF_KEY as CONDITIONS
from archivebox.search.query.conditions import _STATES
from archivebox.search.query.explanation import _OF_KEY as PHRASES
from archivebox.search.query.keys import KEYS, STATES
from archivebox.search.query.parser import MOST_PARTS, Either, Every, Field, Node, Not, Result, WordGroup

MADE_OTHERWISE = {"text", "plugin", "reason"}
"""Keys that become a node of another kind."""
OF_WHAT_IS_KNOWN = {"tag", "quality", "url", "http", "note", "has"}
"""Keys whose condition depends on which part of a list is wanted."""
OF_WHO_ASKS = {"latest", "failed", "complete"}
"""States that depend on what somebody sees, or on that."""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", Every()),
        ('""', Every()),
        ("one  two", WordGroup(("one", "two"))),
        ('one and "two   three" begin*', WordGroup(("one", "two three", "begin*"))),
        ('rock "and" roll', WordGroup(("rock", "and", "roll"))),
        ("wiki/Pear_(fruit)", WordGroup(("wiki/Pear_(fruit)",))),
        ("https://a.org/x:y 12:30", WordGroup(("https://a.org/x:y", "12:30"))),
        ("a or b c", Either((WordGroup(("a",)), WordGroup(("b", "c"))))),
        ("a (b or c)", Every((WordGroup(("a",)), Either((WordGroup(("b",)), WordGroup(("c",))))))),
        ("not a -b", Every((Not(WordGroup(("a",))), Not(WordGroup(("b",)))))),
        ('#"to read" TAG:x', Every((Field("tag", "to read"), Field("tag", "x")))),
        ("host:Bücher.example:8000", Field("host", "xn--bcher-kva.example_8000")),
        ("host:*.a.org", Field("host", "*.a.org")),
        ("plugin:wget a status:queued", Every((WordGroup(("a",)), Result("wget", "queued")))),
        ("plugin:a plugin:b reason:timeout", Every((Result("a", "", "timeout"), Result("b", "", "timeout")))),
        ("status:queued", Field("status", "queued")),
        ("-status:failed", Not(Result(status="failed"))),
        ("quality:<80", Field("quality", "<80")),
        ("http:404 http:5XX", Every((Field("http", "404"), Field("http", "5xx")))),
        (
            "http://a.org/ note:x has:PDF",
            Every((WordGroup(("http://a.org/",)), Field("note", "x"), Field("has", "pdf"))),
        ),
        ("crawl:0199C2F0-1", Field("crawl", "0199c2f01")),
    ],
)
def test_a_query_says(text: str, said: Node) -> None:
    assert parse(text) == said


@pytest.mark.parametrize(
    ("text", "position", "sentence"),
    [
        ('a "b', 2, "no second one"), ("(a or b", 0, "never closed"), ("a) b", 1, "closes none"),
        ("a or", 4, "missing behind 'or'"), ("or a", 0, "missing at the beginning"), ("a -(", 4, "missing"),
        ("x hots:a", 2, "did you mean host:"), ("host: a", 5, "host:example.org"),
        ("is:new", 3, "is not one of open, done"), ("a after:soon", 8, "not a time"), ("id:xyz", 3, "not an id"),
        ("quality:bad", 8, "not a quality"), ("host:%", 5, "not a host"), ("word " * MOST_PARTS, 500, "at most"),
        ("(" * 90 + "a" + ")" * 5, 84, "never closed"),
    ],
)  # fmt: skip
def test_what_is_no_query_is_refused_with_its_place(text: str, position: int, sentence: str) -> None:
    with pytest.raises(QueryError, match=sentence) as refused:
        parse(text)
    assert refused.value.position == position


def test_every_key_and_state_is_known_to_rows_and_to_words() -> None:
    assert set(KEYS) == set(PHRASES) | MADE_OTHERWISE == set(CONDITIONS) | OF_WHAT_IS_KNOWN | MADE_OTHERWISE
    assert set(STATES) == set(_STATES) | OF_WHO_ASKS
    for key in (key for name, key in KEYS.items() if name not in MADE_OTHERWISE):
        for value in key.choices or [""]:
            assert explain(f"{key.example.split(':')[0]}:{value}" if value else key.example).startswith("pages ")


def test_what_is_done_is_not_said_to_be_archived() -> None:
    assert explain("is:done") == explain("status:sealed") == "pages that are done, with or without success"
