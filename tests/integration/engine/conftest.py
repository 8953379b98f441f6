"""Fixtures of the engine's tests: a collection in a temporary folder, in each way hooks can be started."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.engine.driver import MODES, Collection, collection


@pytest.fixture(params=["forked", *[pytest.param(mode, marks=pytest.mark.once) for mode in MODES if mode != "forked"]])
def each_mode(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Collection]:
    """Forked, cold and portable: all three have to come to the same."""
    with collection(tmp_path, request.param) as made:
        yield made


@pytest.fixture
def forked(tmp_path: Path) -> Iterator[Collection]:
    """The way hooks are started on Linux by default, unless ENGINE_MODE says otherwise."""
    with collection(tmp_path) as made:
        yield made
