"""Owns what failed, in groups: by reason, by plugin, by host."""

from collections import Counter
from dataclasses import dataclass

from django.db.models import Q

from archivebox.base_models.literal import Literal
from archivebox.base_models.visibility import Sight
from archivebox.contract import reasons
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.retry import FINAL_REASONS

COUNTED = 5_000
"""Failures that are counted, on the newest pages: 20 ms."""
MOST_GROUPS = 100


@dataclass(frozen=True, slots=True)
class Group:
    """Failures that have something in common: its name, how many there are, and how many are worth another try."""

    name: str
    failures: int
    retriable: int


@dataclass(frozen=True, slots=True)
class Failures:
    """The largest groups."""

    groups: list[Group]
    are_all_counted: bool


def failures_by(what: str, sight: Sight) -> Failures:
    """Failures of pages that are seen and that nobody removed; ``what``: reason, plugin or host."""
    column = {"reason": "reason", "plugin": "plugin", "host": "snapshot__domain"}[what]
    there = Q(snapshot__retired_at__isnull=True) & sight.condition("snapshot__")
    failed = ArchiveResult.objects.filter(there, status=Literal("failed")).order_by("-snapshot_id")
    found = list(failed.values_list(column, "reason")[: COUNTED + 1])
    every = Counter(name for name, _ in found[:COUNTED])
    final = Counter(name for name, reason in found[:COUNTED] if reason in FINAL_REASONS)
    largest = every.most_common(MOST_GROUPS)
    return Failures([Group(name, count, count - final[name]) for name, count in largest], len(found) <= COUNTED)


def sentence_of(code: str) -> tuple[str, str]:
    """What happened, and what to do next."""
    return reasons.sentence(code) if code else "It ended without a reason.", reasons.action(code)
