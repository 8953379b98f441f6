"""Owns which pages something failed of, in groups by its cause: by reason, by plugin, by host."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from uuid import UUID

from django.db.models import Q, QuerySet

from archivebox.base_models.literal import Literal
from archivebox.base_models.visibility import ViewerScope
from archivebox.contract import reasons
from archivebox.contract.failures import FINAL
from archivebox.core.archiveresult import ArchiveResult

COUNTED = 5_000
"""Failures that are counted, on the newest pages: 20 ms."""
MOST_GROUPS = 100


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """What has something in common: its name, on how many pages it failed, and how many are worth another try."""

    name: str
    pages: int
    retriable: int


@dataclass(frozen=True, slots=True)
class Failures:
    """The largest groups."""

    groups: list[FailureGroup]
    are_all_counted: bool


def failures_by(what: str, scope: ViewerScope) -> Failures:
    """Failures of pages that are seen and that nobody removed; ``what``: reason, plugin or host."""
    column = {"reason": "reason", "plugin": "plugin", "host": "snapshot__domain"}[what]
    failed = _failed(scope).order_by("-snapshot_id")
    found = list(failed.values_list("snapshot_id", column, "reason")[: COUNTED + 1])
    every, retriable = Counter[str](), Counter[str]()
    for _, of_page in groupby(found[:COUNTED], itemgetter(0)):
        results = [(name, reason) for _, name, reason in of_page]
        causes = [one for one in results if reasons.split(one[1])[0] not in reasons.CONSEQUENCES] or results
        every.update({name for name, _ in causes})
        retriable.update({name for name, reason in causes if reason not in FINAL})
    groups = [FailureGroup(name, count, retriable[name]) for name, count in every.most_common(MOST_GROUPS)]
    return Failures(groups, len(found) <= COUNTED)


def failed_pages(crawl_id: UUID, scope: ViewerScope) -> Iterator[tuple[str, str]]:
    """The pages of a crawl of which something failed: URL, and which plugin failed why."""
    failed = _failed(scope).filter(snapshot__crawl_id=crawl_id).order_by("snapshot_id", "pk")
    rows = failed.values_list("snapshot_id", "snapshot__url", "plugin", "reason").iterator()
    for (_, url), results in groupby(rows, itemgetter(0, 1)):
        yield url, " ".join(f"{plugin}: {sentence_of(reason)[0]}" for _, _, plugin, reason in results)


def _failed(scope: ViewerScope) -> "QuerySet[ArchiveResult, ArchiveResult]":
    there = Q(snapshot__retired_at__isnull=True) & scope.condition("snapshot__")
    return ArchiveResult.objects.filter(there, status=Literal("failed"))


def sentence_of(code: str) -> tuple[str, str]:
    """What happened, and what to do next."""
    return reasons.sentence(code) if code else "It ended without a reason.", reasons.action(code)
