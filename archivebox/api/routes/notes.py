"""Notes: what people write beside a Snapshot."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import StringConstraints

from archivebox.accounts.permission import visible_snapshots
from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer, caller, caller_account, record_audit
from archivebox.api.paging import Page, Window, page_of
from archivebox.api.shapes.archive import RequestBody
from archivebox.base_models.transactions import write_transaction
from archivebox.core.note import LONGEST, Note
from archivebox.core.snapshot import Snapshot

router = Router(tags=["notes"])


class NoteIn(RequestBody):
    text: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST, pattern=r"^[^\x00]*\S[^\x00]*$")]


class NoteOut(Schema):
    """One note."""

    id: UUID
    text: str
    author: str | None
    created_at: datetime

    @classmethod
    def all_of(cls, rows: list[Note]) -> "list[NoteOut]":
        return [
            cls(id=row.pk, text=row.text, author=row.author.username if row.author else None, created_at=row.created_at)
            for row in rows
        ]


@router.get("/{uuid:snapshot_id}/notes", response=Page[NoteOut], auth=Bearer(Action.READ))
def list_notes(request: HttpRequest, snapshot_id: UUID, window: Query[Window]) -> Page[NoteOut]:
    """What was written beside it, the latest first; for accounts alone."""
    caller_account(request)
    rows = Note.objects.filter(snapshot=_snapshot(request, snapshot_id)).select_related("author")
    return page_of(rows, window, NoteOut.all_of)


@router.post("/{uuid:snapshot_id}/notes", response={201: NoteOut}, auth=Bearer(Action.EDIT))
def add_note(request: HttpRequest, snapshot_id: UUID, wanted: NoteIn) -> Status[NoteOut]:
    """Write a note."""
    with write_transaction():
        note = Note.objects.create(
            snapshot=_snapshot(request, snapshot_id), author=caller_account(request), text=wanted.text.strip()
        )
        record_audit(request, "note.created", note, snapshot=str(snapshot_id))
    return Status(201, NoteOut.all_of([note])[0])


@router.delete("/{uuid:snapshot_id}/notes/{uuid:note_id}", response={204: None}, auth=Bearer(Action.EDIT))
def remove_note(request: HttpRequest, snapshot_id: UUID, note_id: UUID) -> Status[None]:
    """Remove a note of your own."""
    own = Note.objects.filter(snapshot=_snapshot(request, snapshot_id), author=caller_account(request), pk=note_id)
    with write_transaction():
        note = own.first()
        if note is None:
            raise Http404
        record_audit(request, "note.removed", note, snapshot=str(snapshot_id))
        note.delete()
    return Status(204, None)


def _snapshot(request: HttpRequest, key: UUID) -> Snapshot:
    found: Snapshot | None = visible_snapshots(caller(request)).filter(pk=key).first()
    if found is None:
        raise Http404
    return found
