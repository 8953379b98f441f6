"""Share links: addresses that open one page, or what a saved search finds, to whoever has them."""

from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest
from django.urls import get_script_prefix
from ninja import Query, Router, Schema, Status
from pydantic import Field

from archivebox.accounts.permission import may, visible_snapshots
from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer, caller, caller_account, record_audit
from archivebox.api.idempotency import show_once
from archivebox.api.paging import Page, Window, page_of
from archivebox.api.problems import ProblemError
from archivebox.api.shapes.archive import RequestBody
from archivebox.base_models.transactions import write_transaction
from archivebox.core.snapshot import Snapshot
from archivebox.search.models import (
    LIFETIME,
    MOST_DAYS,
    SavedSearch,
    ShareLink,
    ShareLinkQuerySet,
    ShareRefusedError,
    create_share_link,
)

router = Router(tags=["shares"])


class ShareIn(RequestBody):
    snapshot_id: UUID | None = None
    search_id: Annotated[UUID | None, Field(description="A saved search of your own; one of both is given")] = None
    days: Annotated[int, Field(ge=1, le=MOST_DAYS, description="Until it expires")] = LIFETIME.days


class ShareOut(Schema):
    """A share link, without its address."""

    id: UUID
    owner: str
    snapshot_id: UUID | None
    search_id: UUID | None
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    view_count: int
    last_viewed_at: datetime | None

    @classmethod
    def all_of(cls, rows: "list[ShareLink]") -> "list[ShareOut]":
        return [cls(**_fields(row)) for row in rows]


class ShareMade(ShareOut):
    """A new link, with its address."""

    link: Annotated[str, Field(description="Shown only once")]


def _fields(row: ShareLink) -> dict[str, Any]:
    names = ("id", "snapshot_id", "search_id", "created_at", "expires_at", "revoked_at", "view_count", "last_viewed_at")
    return {"owner": row.owner.username, **{name: getattr(row, name) for name in names}}


@router.get("", response=Page[ShareOut], auth=Bearer(Action.EDIT))
def list_shares(request: HttpRequest, window: Query[Window]) -> Page[ShareOut]:
    """Your own share links, also those that have ended; an administrator sees all."""
    return page_of(_own(request), window, ShareOut.all_of)


@router.post("", response={201: ShareMade}, auth=Bearer(Action.EDIT))
def create_share(request: HttpRequest, wanted: ShareIn) -> Status[ShareMade]:
    """Make a link to one page, or to what a saved search finds. Its address is in this answer, and never again."""
    show_once(request)
    try:
        with write_transaction():
            link, token = create_share_link(
                caller_account(request), _target(request, wanted), timedelta(days=wanted.days)
            )
            of = str(link.snapshot or link.search)
            record_audit(request, "share.created", link, of=of, expires=str(link.expires_at))
    except ShareRefusedError as refused:
        raise ProblemError(422, str(refused)) from None
    base = getattr(settings, "BASE_URL", "") or f"{request.scheme}://{request.get_host()}{get_script_prefix()}"
    return Status(201, ShareMade(**_fields(link), link=f"{base.rstrip('/')}/shared/{token}/"))


@router.get("/{uuid:share_id}", response=ShareOut, auth=Bearer(Action.EDIT))
def get_share(request: HttpRequest, share_id: UUID) -> ShareOut:
    """One share link, without its address."""
    return ShareOut.all_of([_find(request, share_id)])[0]


@router.delete("/{uuid:share_id}", response={204: None}, auth=Bearer(Action.EDIT))
def revoke_share(request: HttpRequest, share_id: UUID) -> Status[None]:
    """Revoke it: it opens nothing from now on, and the replay that it had opened ends."""
    link = _find(request, share_id)
    if link.revoked_at is not None:
        raise ProblemError(409, "Already revoked.")
    with write_transaction():
        link.revoke()
        record_audit(request, "share.revoked", link, of=str(link.snapshot or link.search))
    return Status(204, None)


def _target(request: HttpRequest, wanted: ShareIn) -> Snapshot | SavedSearch:
    if (wanted.snapshot_id is None) == (wanted.search_id is None):
        raise ProblemError(422, "Give one of snapshot_id and search_id.")
    found: Snapshot | SavedSearch | None = None
    if wanted.search_id is not None:
        found = SavedSearch.objects.filter(owner=caller_account(request), pk=wanted.search_id).first()
    elif wanted.snapshot_id is not None:
        found = visible_snapshots(caller(request)).filter(pk=wanted.snapshot_id).first()
    if found is None:
        raise Http404
    return found


def _own(request: HttpRequest) -> ShareLinkQuerySet:
    rows = ShareLink.objects.select_related("owner", "snapshot", "search")
    return rows if may(caller(request), Action.ADMINISTER) else rows.filter(owner=caller_account(request))


def _find(request: HttpRequest, key: UUID) -> ShareLink:
    link = _own(request).filter(pk=key).first()
    if link is None:
        raise Http404
    return link
