"""Fixtures of the engine's tests: a collection in a temporary folder, in each way hooks can be started."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.engine.driver import MODES, USUAL, Collection, collection

ALSO_COLD = {"test_control", "test_deaths", "test_orchestrators", "test_outcomes", "test_timing"}
"""What runs cold in every run: starts, ends, judging. The rest does with ENGINE_MODE=cold; portable starts are cold."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is run cold for nothing that the other two ways would not show."""
    left_out = [item for item in items if USUAL != "cold" and _is_spared(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _is_spared(item: pytest.Item) -> bool:
    params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return params.get("each_mode") == "cold" and item.path.stem not in ALSO_COLD


@pytest.fixture(
    params=[
        "forked",
        *[pytest.param(mode, marks=[pytest.mark.once, pytest.mark.slow]) for mode in MODES if mode != "forked"],
    ]
)
def each_mode(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Collection]:
    """Forked, cold and portable: all three have to come to the same."""
    with collection(tmp_path, request.param) as made:
        yield made


@pytest.fixture
def forked(tmp_path: Path) -> Iterator[Collection]:
    """The way hooks are started on Linux by default, unless ENGINE_MODE says otherwise."""
    with collection(tmp_path) as made:
        yield made


@pytest.fixture
def unmade(tmp_path: Path) -> Iterator[Collection]:
    """The same, before its first use."""
    made = Collection(tmp_path, is_made=False)
    yield made
    made.end()
