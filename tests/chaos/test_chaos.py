"""The short form of the chaos run; ``make chaos`` runs the long one."""

import os
from pathlib import Path

import pytest

from tests.chaos.run import run


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_nothing_is_lost_doubled_or_left_behind_whoever_is_killed(tmp_path: Path) -> None:
    chaos = run(float(os.environ.get("CHAOS_SECONDS") or 60), tmp_path)
    print(chaos.report())
    assert not chaos.wrong, chaos.report()
