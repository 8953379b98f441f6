"""Owns what failed, in groups: by reason, by plugin, by host."""

from collections import Counter
from dataclasses import dataclass

from django.db.models import Count, Q

from archivebox.base_models.literal import Literal
from archivebox.base_models.visibility import Sight, hidden_from
from archivebox.contract import reasons
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.retry import FINAL_REASONS
from archivebox.core.snapshot import Snapshot

MOST_GROUPS = 100


@dataclass(frozen=True, slots=True)
class Group:
    """Failures that have something in common: its name, how many there are, and how many are worth another try."""

    name: str
    failures: int
    retriable: int


def failures_by(what: str, sight: Sight) -> list[Group]:
    """The largest groups of failures of pages that are seen and that nobody removed; ``what``: reason, plugin or host.

    Results that failed have indexes of their own: a million pages that were kept are not looked at.
    """
    column = {"reason": "reason", "plugin": "plugin", "host": "snapshot__domain"}[what]
    every, final = _counts(column, Q(), sight), _counts(column, Q(reason__in=FINAL_REASONS), sight)
    largest = every.most_common(MOST_GROUPS)
    return [Group(name, count, count - final[name]) for name, count in largest if count > 0]


def _counts(column: str, also: Q, sight: Sight) -> Counter[str]:
    """All there are, less those of pages that were removed or are hidden, which are few: no other page is looked up."""
    failed = ArchiveResult.objects.filter(also, status=Literal("failed")).order_by()
    removed = Snapshot.objects.filter(retired_at__isnull=False).values("pk")
    hidden = hidden_from(sight, Snapshot.objects.kept()).values("pk")
    counts: Counter[str] = Counter(dict(failed.values_list(column).annotate(count=Count("snapshot"))))
    for pages in (removed, hidden):
        counts.subtract(dict(failed.filter(snapshot__in=pages).values_list(column).annotate(count=Count("snapshot"))))
    return counts


def sentence_of(code: str) -> tuple[str, str]:
    """What happened, and what to do next."""
    return reasons.sentence(code) if code else "It ended without a reason.", reasons.action(code)
