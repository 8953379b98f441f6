"""Cuts a stream into lists of the length that one statement takes."""

import itertools
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Lists of ``size`` items, the last one shorter; no more than one of them is in memory."""
    rest = iter(items)
    while batch := list(itertools.islice(rest, size)):
        yield batch
