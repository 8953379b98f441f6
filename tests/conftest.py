"""Owns the fixtures that tests of every level share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.site.serve import Site


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """The local web (tests/site/README.md), one per test process."""
    with Site() as running:
        yield running
