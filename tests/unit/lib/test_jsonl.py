"""JSON lines: written strictly, read tolerantly (`tests/unit/contract/test_records.py` has the bad input)."""

import math
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from archivebox.lib import jsonl


def test_a_record_is_one_line_that_is_read_again() -> None:
    record: dict[str, jsonl.JSON] = {"type": "Tag", "name": "a\nb\u2028c é 日", "list": [1, None, {"x": 2.5}]}
    line = jsonl.dumps(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert "日".encode() in line
    assert jsonl.loads(line) == jsonl.loads(jsonl.text(record)) == record


def test_times_keys_and_paths_are_written_as_text() -> None:
    key = UUID("01980000-0000-7000-8000-000000000000")
    line = jsonl.loads(jsonl.dumps({"id": key, "at": datetime(2026, 1, 31, tzinfo=UTC), "path": Path("a/b")}))
    assert line == {"id": str(key), "at": "2026-01-31T00:00:00+00:00", "path": "a/b"}


@pytest.mark.parametrize("value", [math.nan, math.inf, {1, 2}, b"bytes", object()])
def test_what_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        jsonl.dumps({"x": value})


def test_broken_text_is_written_as_question_marks() -> None:
    assert jsonl.dumps({"x": "a\ud800"}) == b'{"x":"a?"}\n'


def test_brackets_inside_text_are_no_nesting() -> None:
    text = "{[" * 500 + '\\" '
    assert jsonl.loads(jsonl.dumps({"x": text})) == {"x": text}
    deep: jsonl.JSON = []
    for _ in range(62):
        deep = [deep]
    assert jsonl.loads(jsonl.dumps({"x": deep})) == {"x": deep}
    assert jsonl.loads(jsonl.dumps({"x": [deep]})) is None


def test_a_file_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a": 1}\nnonsense\n\n  {"b": 2}  \r\n{"torn": ')
    assert list(jsonl.read(path)) == [{"a": 1}, {"b": 2}]
    assert list(jsonl.iter_lines(['{"a": 1}', b"[]"])) == [{"a": 1}]
