"""Owns where the files of a snapshot are, as its row says."""

from pathlib import Path
from uuid import UUID

from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.core.models import Snapshot
from archivebox.core.page_storage.folder import local_folder


def folder_of(snapshot_id: UUID, scope: ViewerScope) -> Path | None:
    """The folder of this snapshot; None for one that is not there, was removed, or is not seen. Blocks.

    Asked for every file, and never remembered: what is removed or hidden is not served from then on.
    """
    snapshot = seen_by(scope, Snapshot.objects.kept()).only("output_dir").filter(pk=snapshot_id).first()
    return None if snapshot is None else local_folder(snapshot)
