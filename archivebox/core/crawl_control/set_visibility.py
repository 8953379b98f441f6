"""Owns changing who sees pages, and crawls with all their pages and those to come."""

from collections.abc import Callable
from typing import Any

from django.db import models
from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import Visibility
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl

BATCH = 1_000
"""Pages of one transaction: others wait to write meanwhile."""


def show(snapshots: "models.QuerySet[Snapshot, Any]", visibility: Visibility) -> int:
    """Let these be seen by those. Returns how many were seen by others before."""
    count = 0
    others = snapshots.exclude(visibility=visibility).order_by("pk").values_list("pk", flat=True)
    keys = list(others[:BATCH])
    while keys:
        with write_transaction():
            rows = Snapshot.objects.filter(pk__in=keys)
            rows.lock()
            count += rows.update(visibility=visibility, modified_at=timezone.now())
        keys = list(others.filter(pk__gt=keys[-1])[:BATCH])
    return count


def show_crawl(crawl: Crawl, visibility: Visibility, noting: Callable[[], object]) -> int:
    """Let a crawl be seen by those, first of all with the pages to come, then with those there are: returns how many.

    ``noting`` is called in the transaction of the first. Worked off in parts: a crawl may have a million.
    """
    with write_transaction():
        Crawl.objects.filter(pk=crawl.pk).update(visibility=visibility, modified_at=timezone.now())
        noting()
    return show(crawl.snapshot_set.all(), visibility)
