"""What happens when a URL is there already: its versions, which of them is the latest, and retiring them."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import models
from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl
from archivebox.lib.batches import batches

BATCH = 500
"""URLs of one query."""


def latest_versions(urls: Iterable[str]) -> dict[str, UUID]:
    """URL → key of its latest kept Snapshot, of those that have one."""
    latest: dict[str, UUID] = {}
    for batch in batches(urls, BATCH):
        rows = Snapshot.objects.kept().filter(url__in=batch).order_by("id").values_list("url", "pk")
        latest.update(rows)
    return latest


def retire(snapshots: "models.QuerySet[Snapshot, Any]") -> int:
    """Take them out of every list, without touching their files. Returns how many."""
    return snapshots.filter(retired_at__isnull=True).update(retired_at=timezone.now(), modified_at=timezone.now())


def restore(snapshots: "models.QuerySet[Snapshot, Any]") -> int:
    """Undo :func:`retire`. Returns how many."""
    return snapshots.filter(retired_at__isnull=False).update(retired_at=None, modified_at=timezone.now())


def retire_older(crawl: Crawl) -> int:
    """Retire every other version of the URLs of ``crawl``. Returns how many."""
    count = 0
    urls = list(Snapshot.objects.filter(crawl=crawl).values_list("url", flat=True))
    with write_transaction():
        for batch in batches(urls, BATCH):
            count += retire(Snapshot.objects.filter(url__in=batch).exclude(crawl=crawl))
    return count
