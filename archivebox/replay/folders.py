"""Owns where the files of a snapshot are, as its row says."""

from functools import lru_cache
from pathlib import Path
from uuid import UUID

from django.db import connection

from archivebox.core.models import Snapshot

_KEPT = 1024
"""Folders remembered: a page and its pictures ask for one folder many times, and a row never changes its own."""


def folder_of(snapshot_id: UUID) -> Path | None:
    """The folder of this snapshot; None for one that is not there. Blocks; leaves no connection open in its thread."""
    try:
        return _remembered(snapshot_id)
    except Snapshot.DoesNotExist:
        return None


@lru_cache(maxsize=_KEPT)
def _remembered(snapshot_id: UUID) -> Path:
    try:
        snapshot: Snapshot = Snapshot.objects.only("output_dir").get(pk=snapshot_id)
        return snapshot.path
    finally:
        connection.close()
