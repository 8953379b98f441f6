"""The short form of the chaos run; ``make chaos`` runs the long one."""

import os
from pathlib import Path

import pytest

from tests.chaos.run import run
from tests.suite.packages import missing
from tests.suite.postgres import cluster

pytestmark = [pytest.mark.timeout(1200), pytest.mark.once]

SECONDS = float(os.environ.get("CHAOS_SECONDS") or 60)
ROUND = 10.0
"""Seconds of the round of kills that `bin/test` has."""


@pytest.mark.default
@pytest.mark.parametrize("seconds", [ROUND, pytest.param(SECONDS, marks=pytest.mark.slow)])
def test_nothing_is_lost_doubled_or_left_behind_whatever_happens(
    seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    chaos = run(seconds, tmp_path)
    print(chaos.report())
    assert not chaos.wrong, chaos.report()


@pytest.mark.skipif("postgresql" in missing(), reason="needs PostgreSQL's programs")
def test_the_same_on_a_database_server_that_is_restarted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster() as server:
        monkeypatch.setenv("DATABASE_URL", server.url)
        chaos = run(SECONDS, tmp_path, server=server)
    print(chaos.report())
    assert not chaos.wrong, chaos.report()
