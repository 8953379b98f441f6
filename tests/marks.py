"""Owns how a row of a parametrised test is left to `bin/test --all`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def first_by_default(rows: Iterable[Any], count: int) -> list[Any]:
    """Rows of a test of which `bin/test` runs the first ones, as the others go the same way."""
    return [row if place < count else pytest.param(row, marks=pytest.mark.slow) for place, row in enumerate(rows)]


def these_by_default(rows: Iterable[str], chosen: Collection[str]) -> list[Any]:
    """Rows of a test of which `bin/test` runs those that are named."""
    return [row if row in chosen else pytest.param(row, marks=pytest.mark.slow) for row in rows]
