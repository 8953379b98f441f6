"""Owns which generations are kept, and deleting the others."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum

from archivebox.backup.generations import Destination, Generation


class KeepRule(StrEnum):
    """By what generations are counted: the newest of each of the last days, weeks, months and years is kept."""

    LAST = "last"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    YEARLY = "yearly"


_PERIODS: Mapping[KeepRule, Callable[[datetime], str]] = {
    KeepRule.LAST: lambda moment: moment.isoformat(),
    KeepRule.DAILY: lambda moment: f"{moment:%Y-%m-%d}",
    KeepRule.WEEKLY: lambda moment: f"{moment:%G-%V}",
    KeepRule.MONTHLY: lambda moment: f"{moment:%Y-%m}",
    KeepRule.YEARLY: lambda moment: f"{moment:%Y}",
}


def superfluous(generations: Iterable[Generation], counts: Mapping[KeepRule, int]) -> list[Generation]:
    """Those that no rule keeps, the oldest first. The newest is always kept. Periods are those of UTC."""
    newest_first = sorted(generations, key=lambda one: one.name, reverse=True)
    kept = {one.name for one in newest_first[:1]}
    for rule, count in counts.items():
        newest_of: dict[str, str] = {}
        for generation in newest_first:
            newest_of.setdefault(_PERIODS[rule](generation.made_at), generation.name)
        kept.update(list(newest_of.values())[:count])
    return [one for one in reversed(newest_first) if one.name not in kept]


def prune(destination: Destination, counts: Mapping[KeepRule, int], *, dry_run: bool) -> list[Generation]:
    """Delete what no rule keeps; returns it. Files that other generations have, too, stay in those."""
    with destination.locked():
        removed = superfluous(destination.generations(), counts)
        if not dry_run:
            destination.clear()
            for generation in removed:
                destination.remove(generation.folder)
    return removed
