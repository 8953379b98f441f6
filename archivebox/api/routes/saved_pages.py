"""What the browser extension SingleFile calls: a page as it stood in somebody's browser."""

from functools import partial
from typing import Annotated
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from ninja import File, Form, Router, Schema, Status
from ninja.files import UploadedFile
from pydantic import Field

from archivebox.accounts.permission import is_visitor
from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer, caller, caller_account, record_audit
from archivebox.api.problems import ProblemError
from archivebox.api.shapes.archive import Text
from archivebox.imports.page import NotReadableError
from archivebox.imports.upload import keep_upload

router = Router(tags=["browser extension"])


class SentPage(Schema):
    """What the extension sends beside the file."""

    url: Annotated[Text, Field(description="Where the page is; else what the file says")] = ""


class SavedPage(Schema):
    """What the page has become."""

    id: UUID
    url: str
    title: str
    path: Annotated[str, Field(description="Where it is on this server")]


@router.post("/singlefile", response={200: SavedPage, 201: SavedPage}, auth=Bearer(Action.ADD))
def keep_saved_page(request: HttpRequest, file: File[UploadedFile], sent: Form[SentPage]) -> Status[SavedPage]:
    """Keep a page that SingleFile saved. 200: the same file was kept before."""
    if is_visitor(caller(request)):
        raise ProblemError(403, "Pages with their content are accepted from accounts that may add alone.")
    try:
        kept = keep_upload(
            file.chunks(),
            sent.url.strip(),
            caller_account(request),
            partial(record_audit, request, "snapshot.uploaded"),
        )
    except NotReadableError as problem:
        raise ProblemError(422, f"Not kept: {problem}") from None
    snapshot = kept.snapshot
    path = reverse("snapshot", args=[snapshot.pk])
    return Status(
        201 if kept.is_new else 200, SavedPage(id=snapshot.pk, url=snapshot.url, title=snapshot.title, path=path)
    )
