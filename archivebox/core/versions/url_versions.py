"""What happens when a URL is there already: its versions, which of them is the latest, and retiring them."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.contract.reasons import Reason
from archivebox.core.note import Note
from archivebox.core.snapshot import Snapshot
from archivebox.core.unchanged_check import UnchangedCheck
from archivebox.lib.batches import batches

RETIRED = Q(retired_at__isnull=False)
RESTORABLE = RETIRED & ~Q(reason=Reason.PURGED)
"""Files of the others are being deleted, or some are gone already."""
BATCH = 500
"""URLs of one query."""


def latest_versions(urls: Iterable[str], scope: ViewerScope) -> dict[str, UUID]:
    """URL → key of its latest kept Snapshot that is seen, of those that have one."""
    latest: dict[str, UUID] = {}
    for batch in batches(urls, BATCH):
        rows = seen_by(scope, Snapshot.objects.kept()).filter(url__in=batch).order_by("id").values_list("url", "pk")
        latest.update(rows)
    return latest


def retire(snapshots: "models.QuerySet[Snapshot, Any]") -> int:
    """Take them out of every list, without touching their files. Returns how many."""
    return _in_order(snapshots, Q(retired_at__isnull=True), retired_at=timezone.now())


def restore(snapshots: "models.QuerySet[Snapshot, Any]") -> int:
    """Undo :func:`retire`. Returns how many."""
    whole = snapshots.exclude(pk__in=UnchangedCheck.objects.values("instead"))  # the files of others are gone
    return _in_order(whole, RESTORABLE, retired_at=None)


def mark_for_purge(snapshots: "models.QuerySet[Snapshot, Any]") -> int:
    """Decide that retired ones are deleted for good: from here on nobody restores them. Returns how many."""
    return _in_order(snapshots, RETIRED, reason=Reason.PURGED)


def _in_order(snapshots: "models.QuerySet[Snapshot, Any]", still: Q, **columns: object) -> int:
    """Change those of which ``still`` holds once nobody else changes them.

    Rows are locked by key, as everybody does: workers retire many at once, too, and two would wait in turn.
    """
    count = 0
    with write_transaction():
        for keys in batches(sorted(snapshots.filter(still).values_list("pk", flat=True)), BATCH):
            Snapshot.objects.filter(pk__in=keys).lock()
            count += Snapshot.objects.filter(still, pk__in=keys).update(**columns, modified_at=timezone.now())
    return count


def replace_older(snapshot: Snapshot) -> None:
    """Retire the versions before one that was given and is archived, and not as an error page; it gets their notes."""
    if snapshot.depth or not snapshot.verdict().is_archived or snapshot.http_status >= HTTPStatus.BAD_REQUEST:
        return
    older = Snapshot.objects.kept().of_url(snapshot.url).filter(pk__lt=snapshot.pk)
    notes = Note.objects.filter(snapshot__in=older).values("author_id", "text")
    Note.objects.bulk_create(Note(snapshot=snapshot, **note) for note in notes)
    retire(older)
