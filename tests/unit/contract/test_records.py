"""Records on a hook's stdout: any bytes, cut into lines anywhere."""

import json
import os
import random
from collections.abc import Mapping

import pytest

from archivebox.contract.reasons import Reason, action, sentence, split
from archivebox.contract.records import LineReader, Record, handler_for, parse_line, register, registered_types
from archivebox.lib.jsonl import JSON


def test_a_record_is_its_type_and_the_rest() -> None:
    line = b'{"type": "Snapshot", "url": "https://example.com/", "depth": 1, "tags": ["a", null]}\r'
    fields: dict[str, JSON] = {"url": "https://example.com/", "depth": 1, "tags": ["a", None]}
    assert parse_line(line) == Record("Snapshot", fields)


@pytest.mark.parametrize(
    "line",
    [
        b"", b"hello", b"[1, 2]", b"{}", b'{"type": ""}', b'{"type": null}', b'{"type": 5}', b'{"type": ["Snapshot"]}',
        b'{"url": "x"}',
        b'{"type": "Tag"} trailing', b"{'type': 'Tag'}", b'{"type": "Tag", "a": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'{"a":' * 100_000, b'{"type": "Tag", "name": "' + b"x" * 1_000_000 + b'"}', b"\0" * 50, b"{\xff\xfe\x00",
        "{}".encode("utf-16"),
    ],
)  # fmt: skip
def test_anything_else_is_log_text(line: bytes) -> None:
    assert parse_line(line) is None


def test_no_bytes_make_it_raise() -> None:
    chance = random.Random(7)
    whole = b'{"type":"Tag","name":"\\ud83d\\u0000","n":[1e999,-1,{"a":NaN}],"t":true}'
    for _ in range(3_000):
        line = bytearray(whole)
        for _ in range(chance.randrange(1, 6)):
            line[chance.randrange(len(line))] = chance.randrange(256)
        record = parse_line(bytes(line))
        assert record is None or json.dumps(record.fields, allow_nan=False).encode("ascii")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NaN", None), ("-Infinity", None), ("1e999", None), ("9223372036854775807", 9223372036854775807),
        ("9223372036854775808", 9223372036854775808.0), ("9" * 5_000, None), ("-0", 0), (r'"a\u0000b"', "a\ufffdb"),
        (r'"\ud800"', "\ufffd"), (r'"\ud83d\ude00"', "😀"), (r'{"\u0000": 1}', {"\ufffd": 1}),
    ],
)  # fmt: skip
def test_what_no_database_keeps_is_made_harmless(text: str, value: JSON) -> None:
    record = parse_line(f'{{"type": "X", "v": {text}}}'.encode())
    assert record is not None
    assert record.fields["v"] == value
    assert type(record.fields["v"]) is type(value)


def test_bytes_that_are_no_utf_8_lose_only_themselves() -> None:
    assert parse_line(b'{"type":"Tag","name":"caf\xe9"}') == Record("Tag", {"name": "caf\ufffd"})


def test_lines_are_the_same_however_the_stream_is_cut() -> None:
    stream = b"one\n\n{two}\r\nthr\xffee\n" + b"four" * 100 + b"\nrest"
    expected = [b"one", b"", b"{two}", b"thr\xffee", b"four" * 100]
    for size in (1, 2, 3, 7, 100, 1_000):
        reader = LineReader()
        lines = [line for start in range(0, len(stream), size) for line in reader.feed(stream[start : start + size])]
        assert lines == expected
        assert (reader.offset, reader.position, reader.dropped) == (len(stream) - 4, len(stream), 0)
        assert reader.close() == [b"rest"]
        assert reader.offset == len(stream)
        assert reader.close() == []


def test_a_reader_goes_on_from_the_offset_of_another() -> None:
    stream = b"one\ntwo\nthree\n"
    first = LineReader()
    assert first.feed(stream[:6]) == [b"one"]
    second = LineReader(offset=first.offset)
    assert second.feed(stream[first.offset :]) == [b"two", b"three"]
    assert second.offset == len(stream)


def test_a_line_above_the_limit_is_dropped_and_counted() -> None:
    stream = b"a\n" + b"x" * 2_500_000 + b"\nb\n" + b"y" * 1_000_001 + b"\nc\n"
    reader = LineReader()
    lines = [line for start in range(0, len(stream), 65_536) for line in reader.feed(stream[start : start + 65_536])]
    assert (lines, reader.dropped, reader.offset) == ([b"a", b"b", b"c"], 2, len(stream))


def test_an_endless_line_is_not_kept_in_memory() -> None:
    reader = LineReader(limit=1_000)
    block = os.urandom(4_096).replace(b"\n", b" ")
    for _ in range(100):
        assert reader.feed(block) == []
    assert len(reader._pending) == 0
    assert reader.position == 100 * 4_096
    assert reader.close() == []
    assert reader.dropped == 1


def test_models_sign_up_once() -> None:
    def take(fields: Mapping[str, JSON], overrides: Mapping[str, object]) -> object:
        return (fields, overrides)

    def other(fields: Mapping[str, JSON], overrides: Mapping[str, object]) -> object:
        return (overrides, fields)

    register("TestKind", take)
    register("TestKind", take)
    assert handler_for("TestKind") is take
    assert "TestKind" in registered_types()
    assert handler_for("Nobody") is None
    with pytest.raises(ValueError, match="TestKind"):
        register("TestKind", other)


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_a_sentence(reason: Reason) -> None:
    assert reason.sentence.endswith(".")
    assert "{}" not in reason.sentence + reason.action + sentence(reason.of("wget")) + action(reason.of("wget"))
    assert sentence(reason.value) == reason.sentence


def test_a_reason_may_name_what_it_speaks_of() -> None:
    code = Reason.MISSING_BINARY.of("wget")
    assert code == "missing_binary:wget"
    assert split(code) == (Reason.MISSING_BINARY, "wget")
    assert sentence(code) == "It needs wget, which is not installed."
    assert action(code) == "Run `archivebox install`."
    assert split("from_the_future:x") == (None, "x")
    assert "from_the_future" in sentence("from_the_future")
    assert action("from_the_future") == ""
