"""Owns how rows of a parametrised test are left to `bin/test --all`."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pytest


def first_by_default(count: int, names: str | Sequence[str], rows: Iterable[Any], **more: Any) -> pytest.MarkDecorator:
    """``parametrize`` with rows of which `bin/test` runs the first ones, as the others go the same way."""
    listed = [row if place < count else _left_to_all(row) for place, row in enumerate(rows)]
    return pytest.mark.parametrize(names, listed, **more)


def these_by_default(rows: Iterable[str], chosen: Collection[str]) -> list[Any]:
    """Rows of a test of which `bin/test` runs those that are named."""
    return [row if row in chosen else _left_to_all(row) for row in rows]


def _left_to_all(row: Any) -> Any:
    """A row of several arguments is a tuple."""
    return pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=pytest.mark.slow)
