"""Amounts as people read and write them."""

import pytest

from archivebox.lib.quantities import parse_size, size


@pytest.mark.parametrize(
    ("text", "count"), [("0", 0), ("1500", 1500), ("750m", 750_000_000), ("1.5 GB", 1_500_000_000), ("2KB", 2000)]
)
def test_sizes_are_read_as_people_write_them(text: str, count: int) -> None:
    assert parse_size(text) == count


@pytest.mark.parametrize("text", ["", "m", "-1", "1,5g", "2 gigabytes", "1e9", "12x"])
def test_what_is_no_size_is_said_so(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size such as 750m or 2g"):
        parse_size(text)


def test_sizes_are_read_back_as_they_are_said() -> None:
    assert parse_size(size(4_200)) == 4_200
