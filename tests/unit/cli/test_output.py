"""People get tables, programs JSON lines; what comes from archived pages steers no terminal."""

import io
import json
import re
from datetime import UTC, datetime
from uuid import UUID

import pytest

from archivebox.cli.output import Column, Node, Output, counted, plain, printable
from tests.unit.cli.streams import Terminal, for_people, in_a_pipe

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31mred\u202e"
COLUMNS = (
    Column("title", "title"),
    Column("when", "at"),
    Column("n", lambda record: len(str(record["title"])), right=True),
)
RECORD = {"type": "Snapshot", "title": HOSTILE, "at": datetime(2026, 1, 31, 12, tzinfo=UTC), "id": UUID(int=7)}


def test_escape_sequences_in_a_title_do_not_reach_a_terminal() -> None:
    output, stream = for_people()
    output.table(COLUMNS, [RECORD])
    output.say(f"Archived {HOSTILE}")
    output.tree([Node(HOSTILE, RECORD)])
    drawn = stream.getvalue()
    assert "owned" in drawn
    assert "\x1b]0" not in drawn
    assert "\x1b[2J" not in drawn
    assert "\x9b" not in drawn
    assert "\u202e" not in drawn


def test_a_pipe_gets_one_json_object_a_line() -> None:
    output, out, _ = in_a_pipe()
    assert output.table(COLUMNS, [RECORD, RECORD]) == 2
    lines = out.getvalue().splitlines()
    assert len(lines) == 2
    assert "\x9b" not in lines[0]
    assert json.loads(lines[0]) == {
        "type": "Snapshot",
        "title": HOSTILE,
        "at": "2026-01-31T12:00:00+00:00",
        "id": "00000000-0000-0000-0000-000000000007",
    }


def test_sentences_in_a_pipe_go_to_stderr() -> None:
    output, out, err = in_a_pipe()
    output.say("For people.")
    output.event({"type": "Thing"}, "A thing.")
    assert err.getvalue() == "For people.\n"
    assert json.loads(out.getvalue()) == {"type": "Thing"}


def test_json_can_be_had_on_a_terminal() -> None:
    stream = Terminal()
    output = Output(json=True, stdout=stream, stderr=io.StringIO())
    assert not output.is_for_people
    output.table(COLUMNS, [RECORD])
    assert json.loads(stream.getvalue())["type"] == "Snapshot"


def test_a_tree_in_a_pipe_carries_its_depth() -> None:
    output, out, _ = in_a_pipe()
    leaf = Node("leaf", {"type": "C"})
    output.tree([Node("root", {"type": "A"}, children=[Node("branch", {"type": "B"}, children=[leaf])])])
    assert [json.loads(line) for line in out.getvalue().splitlines()] == [
        {"type": "A", "depth": 0},
        {"type": "B", "depth": 1},
        {"type": "C", "depth": 2},
    ]


def test_nobody_is_asked_in_a_pipe() -> None:
    output, out, _ = in_a_pipe()
    assert output.ask("Go on?") is False
    assert out.getvalue() == ""


def test_values_are_shown_on_one_line() -> None:
    assert plain(None) == ""
    assert plain(True) == "yes"
    assert plain(0.125) == "0.12"
    assert plain(["a", None, 3]) == "a, , 3"
    assert plain({"queued": 2, "sealed": 1}) == "queued 2, sealed 1"
    assert plain(datetime(2026, 1, 31, 12, tzinfo=UTC)) == "2026-01-31 12:00:00"
    assert printable("two\nlines") == "two lines"
    assert (counted(1, "page"), counted(2_000, "page")) == ("1 page", "2,000 pages")


LONG = (
    Column("hook", "hook"),
    Column("size", "size", right=True),
    Column("what", "what", wraps=True),
    Column("to do", "action", wraps=True),
)
HOOK = {
    "hook": "on_Snapshot__21_consolelog.daemon.bg.py",
    "size": "1.2 MB",
    "what": "It needs a program that could not be installed: chromium.",
    "action": "Run `archivebox install chromium`.",
}


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_every_word_of_every_column_is_there_at_any_width(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    output, stream = for_people()
    output.table(LONG, [HOOK, {**HOOK, "action": ""}])
    drawn = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    assert max(map(len, drawn.splitlines())) <= width
    words = " ".join((*(column.title for column in LONG[:2]), *HOOK.values())).split()
    assert [word for word in words if word not in drawn.split()] == []


def test_bytes_are_shown_as_sizes_to_people_alone() -> None:
    output, stream = for_people()
    record = {"type": "Status", "free": 34_100_000_000}
    output.facts(record, {"free": "free disk"}, frozenset({"free"}))
    assert stream.getvalue() == "free disk  34.1 GB\n"
    pipe, out, _ = in_a_pipe()
    pipe.facts(record, {"free": "free disk"}, frozenset({"free"}))
    assert json.loads(out.getvalue()) == record
