"""WARCs whose writer was ended."""

import gzip
from pathlib import Path

import pytest

from archivebox.plugins.base.warc import cut_to_whole_records

RECORDS = [gzip.compress(bytes([number]) * 70_000 + bytes(range(256)) * 300) for number in range(3)]
WHOLE = b"".join(RECORDS)


@pytest.mark.parametrize("kept", [0, 1, 9, len(RECORDS[0]) - 1])
def test_a_first_record_cut_anywhere_leaves_nothing(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "x.warc.gz"
    path.write_bytes(WHOLE[:kept])

    assert cut_to_whole_records(path) == 0
    assert path.read_bytes() == b""


@pytest.mark.parametrize("missing", [1, 7, 8, 9, 100])
def test_a_cut_last_record_goes_and_the_others_stay(tmp_path: Path, missing: int) -> None:
    path = tmp_path / "x.warc.gz"
    path.write_bytes(WHOLE[:-missing])

    assert cut_to_whole_records(path) == len(RECORDS[0] + RECORDS[1])
    assert path.read_bytes() == RECORDS[0] + RECORDS[1]


def test_a_whole_file_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x.warc.gz"
    path.write_bytes(WHOLE)

    assert cut_to_whole_records(path) == len(WHOLE)
    assert path.read_bytes() == WHOLE


def test_what_is_no_gzip_after_a_record_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "x.warc.gz"
    path.write_bytes(RECORDS[0] + b"\0" * 5000)

    assert cut_to_whole_records(path) == len(RECORDS[0])


def test_a_bomb_is_measured_without_being_held(tmp_path: Path) -> None:
    bomb = gzip.compress(b"\0" * (64 << 20))
    path = tmp_path / "x.warc.gz"
    path.write_bytes(bomb + bomb[:-1])

    assert cut_to_whole_records(path) == len(bomb)
