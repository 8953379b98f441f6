"""Files that were kept of a Snapshot: a list of them, and each as it was kept."""

import os
from typing import Annotated
from uuid import UUID

from django.http import FileResponse, Http404, HttpRequest
from ninja import Router, Schema
from pydantic import Field

from archivebox.accounts.permission import visible_snapshots
from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer, caller
from archivebox.core.snapshot import Snapshot
from archivebox.replay.files import NotThereError, split_path
from archivebox.replay.folders import open_page_file

router = Router(tags=["files"])
NEVER_DRAWN = "default-src 'none'; sandbox"
"""The policy of archived bytes on this origin: a browser saves them, and draws nothing of them."""


class FileOut(Schema):
    """One file."""

    path: Annotated[str, Field(description="The plugin's name, and that of the file in its folder")]
    size: int
    mimetype: str


class Files(Schema):
    """All files of a Snapshot; of a plugin that left more than 1,000 the first of these."""

    items: list[FileOut]


@router.get("/{uuid:snapshot_id}/files", response=Files, auth=Bearer(Action.READ))
def list_files(request: HttpRequest, snapshot_id: UUID) -> Files:
    """What its plugins have kept."""
    results = _snapshot(request, snapshot_id).archiveresult_set.order_by("plugin", "pk")
    found = {
        f"{plugin}/{name}": FileOut(
            path=f"{plugin}/{name}", size=about.get("size") or 0, mimetype=about.get("mimetype") or ""
        )
        for plugin, files in results.values_list("plugin", "output_files")
        for name, about in files.items()
    }
    return Files(items=list(found.values()))


@router.get("/{uuid:snapshot_id}/files/{path:path}", auth=Bearer(Action.READ), openapi_extra={"responses": {200: {}}})
def get_file(request: HttpRequest, snapshot_id: UUID, path: str) -> FileResponse:
    """One file as it was kept, to be saved: a browser draws nothing of it here."""
    try:
        names = split_path(path)
        opened = open_page_file(_snapshot(request, snapshot_id), names)
    except NotThereError:
        raise Http404 from None
    if opened.is_folder:
        os.close(opened.descriptor)
        raise Http404
    answer = FileResponse(
        os.fdopen(opened.descriptor, "rb"),
        as_attachment=True,
        filename=names[-1],
        content_type="application/octet-stream",
    )
    answer["Content-Security-Policy"] = NEVER_DRAWN
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


def _snapshot(request: HttpRequest, key: UUID) -> Snapshot:
    found: Snapshot | None = visible_snapshots(caller(request)).filter(pk=key).first()
    if found is None:
        raise Http404
    return found
