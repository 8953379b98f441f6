"""Work in a process of its own ends at its limits, and takes nothing from who asked for it."""

import psutil
import pytest

from archivebox.lib.module_process import LimitError, run_limited

PROGRAM = "tests.unit.lib.greedy"


@pytest.mark.parametrize("wanted", ["memory", "time", "error"])
def test_work_beyond_its_limits_ends_with_an_error_and_leaves_no_process(wanted: str) -> None:
    before = psutil.Process().children()
    with pytest.raises(LimitError):
        run_limited(PROGRAM, wanted.encode())
    assert psutil.Process().children() == before


def test_work_within_its_limits_is_answered() -> None:
    assert run_limited(PROGRAM, b"little") == b"little done"
