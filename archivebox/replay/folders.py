"""Owns where the files of a snapshot are, as its rows say."""

import os
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.core.models import Snapshot
from archivebox.core.page_storage.fetching import fetch_file
from archivebox.core.page_storage.folder import absent_page, local_folder
from archivebox.lib.files import mimetype_of
from archivebox.replay.files import NotThereError, OpenFile, open_beneath


def folder_of(snapshot_id: UUID, scope: ViewerScope) -> Path | None:
    """The folder of this snapshot; None for one that is not there, was removed, or is not seen. Blocks.

    Asked for every file, and never remembered: what is removed or hidden is not served from then on.
    """
    snapshot = seen_by(scope, Snapshot.objects.kept()).only("output_dir").filter(pk=snapshot_id).first()
    return None if snapshot is None else local_folder(snapshot)


def open_page_file(snapshot: Snapshot, names: Sequence[str]) -> OpenFile:
    """As ``open_beneath`` in its folder; of a page that is not on this machine, this file alone is fetched. Blocks.

    NotThereError, ObjectStoreError, OSError.
    """
    absent = absent_page(snapshot)
    if absent is None:
        return open_beneath(local_folder(snapshot), names)
    file = fetch_file(absent, "/".join(names))
    if file is None:
        raise NotThereError
    with file:
        status = os.fstat(file.fileno())
        return OpenFile(os.dup(file.fileno()), status.st_size, status.st_mtime, False, mimetype_of(names[-1]))
