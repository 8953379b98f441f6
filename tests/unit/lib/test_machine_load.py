"""How deadlines are extended on a busy machine."""

import os

import pytest

from archivebox.lib.machine_load import LONGEST, extended, is_busy, slowdown


def load(monkeypatch: pytest.MonkeyPatch, per_processor: float) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "getloadavg", lambda: (4 * per_processor, 0.0, 0.0))


@pytest.mark.parametrize(("per_processor", "times"), [(0.0, 1.0), (1.0, 1.0), (2.0, 2.0), (50.0, LONGEST)])
def test_deadlines_grow_with_those_that_wait_for_a_processor(
    monkeypatch: pytest.MonkeyPatch, per_processor: float, times: float
) -> None:
    load(monkeypatch, per_processor)
    assert slowdown() == times
    assert extended(60.0) == 60.0 * times
    assert is_busy() is (times >= 1.5)


def test_long_deadlines_grow_by_ten_minutes_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    load(monkeypatch, 50.0)
    assert extended(3600.0) == 4200.0


def test_a_system_that_tells_no_load_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> tuple[float, float, float]:
        raise OSError

    monkeypatch.setattr(os, "getloadavg", unknown)
    assert extended(60.0) == 60.0
