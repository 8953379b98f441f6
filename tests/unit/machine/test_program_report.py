import pytest

from archivebox.machine.program_report import parse_time


@pytest.mark.parametrize(
    ("value", "year"), [("2023-11-14T22:13:20", 2023), (1_700_000_000, 2023), (True, None), ([], None)]
)
def test_times_are_understood_as_hooks_write_them(value: object, year: int | None) -> None:
    moment = parse_time(value)  # type: ignore[arg-type]
    assert (moment.year if moment else None) == year
