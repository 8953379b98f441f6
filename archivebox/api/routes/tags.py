"""Tags: words that people or hooks put on Snapshots."""

from typing import Annotated
from uuid import UUID

from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field

from archivebox.accounts.permission import viewer_scope
from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer, caller, record_audit
from archivebox.api.paging import Page, Window, page_of
from archivebox.api.problems import ProblemError
from archivebox.api.shapes.archive import RequestBody, TagIn, TagOut, Text
from archivebox.base_models.transactions import write_transaction
from archivebox.core.tag import Tag
from archivebox.core.tags.assign_tags import tags_seen_by
from archivebox.core.tags.edit_tags import NameTakenError, merge, rename

router = Router(tags=["tags"])


class MergeIn(RequestBody):
    into: UUID


class TagFilter(Schema):
    """Which tags."""

    name: Annotated[Text | None, Field(description="A part of the name")] = None


@router.get("", response=Page[TagOut], auth=Bearer(Action.LIST))
def list_tags(request: HttpRequest, wanted: Query[TagFilter], window: Query[Window]) -> Page[TagOut]:
    """Tags, the newest first."""
    rows = tags_seen_by(viewer_scope(caller(request)))
    rows = rows.filter(name__icontains=wanted.name) if wanted.name else rows
    return page_of(rows, window, TagOut.all_of)


@router.post("", response={200: TagOut, 201: TagOut}, auth=Bearer(Action.EDIT))
def create_tag(request: HttpRequest, wanted: TagIn) -> Status[TagOut]:
    """Make a tag; 200 with the one that is there, where one is called so already."""
    with write_transaction():
        known = set(Tag.objects.values_list("pk", flat=True).filter(name__iexact=wanted.name))
        tag = _named(wanted.name)
        if tag.pk not in known:
            record_audit(request, "tag.created", tag, name=tag.name)
    return Status(200 if tag.pk in known else 201, TagOut.all_of([tag])[0])


@router.get("/{uuid:tag_id}", response=TagOut, auth=Bearer(Action.LIST))
def get_tag(request: HttpRequest, tag_id: UUID) -> TagOut:
    """One tag."""
    return TagOut.all_of([_find(request, tag_id)])[0]


@router.patch("/{uuid:tag_id}", response=TagOut, auth=Bearer(Action.EDIT))
def rename_tag(request: HttpRequest, tag_id: UUID, wanted: TagIn) -> TagOut:
    """Give it another name; 409 where another tag has it: `merge` makes the two one."""
    tag = _find(request, tag_id)
    before = tag.name
    try:
        with write_transaction():
            rename(tag, wanted.name)
            record_audit(request, "tag.renamed", tag, before=before, after=tag.name)
    except NameTakenError as taken:
        raise ProblemError(409, f"{taken} Merge this tag into {taken.other.pk} instead.") from None
    except ValueError as refused:
        raise ProblemError(422, str(refused)) from None
    return TagOut.all_of([tag])[0]


@router.post("/{uuid:tag_id}/merge", response=TagOut, auth=Bearer(Action.EDIT))
def merge_tag(request: HttpRequest, tag_id: UUID, wanted: MergeIn) -> TagOut:
    """Put the tag `into` on every Snapshot that has this one, and delete this one."""
    tag, into = _find(request, tag_id), _find(request, wanted.into)
    if tag == into:
        raise ProblemError(422, "A tag cannot be merged into itself.")
    with write_transaction():
        record_audit(request, "tag.merged", tag, name=tag.name, into=into.name)
        merge([tag], into)
    return TagOut.all_of([into])[0]


@router.delete("/{uuid:tag_id}", response={204: None}, auth=Bearer(Action.EDIT))
def remove_tag(request: HttpRequest, tag_id: UUID) -> Status[None]:
    """Take it off all Snapshots, and delete it."""
    tag = _find(request, tag_id)
    with write_transaction():
        record_audit(request, "tag.removed", tag, name=tag.name)
        tag.delete()
    return Status(204, None)


def _named(name: str) -> Tag:
    tag = Tag.named(name)
    if tag is None:
        raise ProblemError(422, "A tag must contain a letter or digit.")
    return tag


def _find(request: HttpRequest, key: UUID) -> Tag:
    found = tags_seen_by(viewer_scope(caller(request)), most=None).filter(pk=key).first()
    if found is None:
        raise Http404
    return found
