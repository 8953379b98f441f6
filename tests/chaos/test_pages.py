"""The short form of the kills at each moment of opening a page; ``make chaos-pages`` runs the long one."""

import pytest

from tests.chaos.pages import CELLS, run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.once]

SEED = 7
SHORT = (
    ("renderers", "navigation has begun"),
    ("egress proxy", "first body has come"),
    ("worker", "tab is ready"),
    ("recorder", "first body has come"),
)
"""What once left hooks of files to work on no page, a page without its pictures or WARC, and a crawl that hung."""


FULL_DISK = (("full disk", "first body has come"),)
"""After which a recorder could not go on with a line that was cut in the middle."""


@pytest.mark.parametrize("cells", [SHORT, FULL_DISK])
def test_a_kill_at_a_moment_of_a_page_costs_it_nothing(
    cells: tuple[tuple[str, str], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert set(cells) <= set(CELLS)
    done = run(cells, kills=1, seed=SEED, told=lambda _cell: None)
    assert [(cell.victim, cell.kills, cell.wrong) for cell in done] == [(victim, 1, []) for victim, _ in cells]
