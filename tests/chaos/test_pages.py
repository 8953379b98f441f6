"""The short form of the kills at each moment of opening a page; ``make chaos-pages`` runs the long one."""

import pytest

from tests.chaos.pages import CELLS, run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.once]

SEED = 7
SHORT = (
    ("renderers", "navigation has begun"),
    ("egress proxy", "first body has come"),
    ("worker", "tab is ready"),
)
"""Whose deaths once left hooks of files to work on no page, a page without its pictures, and a crawl that hung."""


def test_a_kill_at_a_moment_of_a_page_costs_it_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert set(SHORT) <= set(CELLS)
    done = run(SHORT, kills=1, seed=SEED, told=lambda _cell: None)
    assert [(cell.victim, cell.kills, cell.wrong) for cell in done] == [(victim, 1, []) for victim, _ in SHORT]
