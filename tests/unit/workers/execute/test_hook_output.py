"""What a hook prints is read in chunks that are small in memory and in the database."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from archivebox.contract.records import LineReader
from archivebox.machine.logtail import read_tail
from archivebox.workers.execute.hooks.output import BLOCK, BLOCKS, SHORTEST, HookOutput, RecordLimits

TAG = b'{"type":"Tag","name":"x"}\n'
LINK = b'{"type":"Snapshot","url":"http://one.test/"}\n'
SUCCEEDED = b'{"type":"ArchiveResult","status":"succeeded","refused":""}\n'
LIMITS = RecordLimits(1_000_000, 1 << 40)


@pytest.mark.slow
def test_a_chunk_has_only_so_many_records(tmp_path: Path) -> None:
    log = tmp_path / "stdout.log"
    log.write_bytes(TAG * 100_000)
    output, counts = HookOutput(str(log), cap=1 << 40, limits=LIMITS), []
    while (chunk := output.read()).more:
        counts.append(len(chunk.records))
    assert sum(counts) + len(chunk.records) == 100_000
    assert max(counts) < 2_000
    assert output.offset == log.stat().st_size


@pytest.mark.parametrize(
    ("flood", "limits", "kept", "reason"),
    [
        (TAG, RecordLimits(50, 1 << 40), 50, "too_many_records:50 records"),
        (SUCCEEDED, RecordLimits(50, 1 << 40), 0, "too_many_records:50 records"),
        (TAG, RecordLimits(1_000, 50 * SHORTEST), 50, "too_many_records:5.0 kB of records"),
        (LINK, RecordLimits(1, 50 * SHORTEST), 50, "too_many_records:5.0 kB of records"),
        (b"{\n", RecordLimits(1, 50 * SHORTEST), 0, "too_many_records:5.0 kB of records"),
    ],
)
def test_a_hook_prints_so_many_records_and_no_more(
    tmp_path: Path, flood: bytes, limits: RecordLimits, kept: int, reason: str
) -> None:
    """What it said before counts, and so does its failure in the hands of the next worker."""
    log = tmp_path / "stdout.log"
    log.write_bytes(flood * 5_000 + SUCCEEDED)
    output, count = HookOutput(str(log), cap=1 << 40, limits=limits), 0
    while (chunk := output.read()).more:
        count += len(chunk.records)
    assert (count + len(chunk.records), output.refused, output.size) == (kept, reason, log.stat().st_size)
    assert output.declared is not None
    assert output.declared.refused == reason
    following = HookOutput(str(log), cap=1 << 40, limits=limits)
    following.go_on_from(output.offset, output.said)
    assert (following.is_full, following.read().records) == (True, [])


def test_text_is_read_a_chunk_at_a_time(tmp_path: Path) -> None:
    log = tmp_path / "stdout.log"
    log.write_bytes(b"y\n" * BLOCK * BLOCKS)
    output = HookOutput(str(log), cap=1 << 40, limits=LIMITS)
    assert (output.read(), output.size, output.offset) == (([], True), BLOCK * BLOCKS, BLOCK * BLOCKS)


def test_text_between_records_is_passed_by_wherever_blocks_end() -> None:
    stream = b'text\n{"type":"A"}\n\n  {"type":"B"}\r\nx{\n' + b"y\n" * 50 + b'{"type":"C"}\nno end'
    for length in range(1, len(stream) + 1):
        fast, plain = LineReader(), LineReader()
        blocks = [stream[at : at + length] for at in range(0, len(stream), length)]
        kept = [line for block in blocks for line in fast.feed_records(block)]
        every = [line for block in blocks for line in plain.feed(block)]
        assert [line for line in kept if line.lstrip()[:1] == b"{"] == [
            b'{"type":"A"}',
            b'  {"type":"B"}',
            b'{"type":"C"}',
        ]
        assert set(kept) <= set(every)
        assert (fast.offset, fast.close()) == (plain.offset, plain.close())


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir])
def test_what_a_hook_has_put_in_the_place_of_its_log_is_not_read(tmp_path: Path, make: Callable[[Path], None]) -> None:
    log = tmp_path / "stdout.log"
    make(log)
    output = HookOutput(str(log), cap=1 << 40, limits=LIMITS)
    assert (output.read(), output.size) == (([], False), 0)
    assert read_tail(log) == ("", 0)


def test_a_line_torn_by_a_gap_is_dropped() -> None:
    reader = LineReader()
    assert reader.feed(b'one\n{"type":') == [b"one"]
    reader.pass_over(100)
    assert reader.feed(b' tail of a line}\n{"type":"B"}\n') == [b'{"type":"B"}']
    assert reader.offset == 4 + 8 + 100 + 17 + 13
