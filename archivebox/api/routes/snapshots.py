"""Snapshots: pages at one time, and what is done with them."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Literal
from uuid import UUID

from django.db.models import prefetch_related_objects
from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field, StringConstraints

from archivebox.accounts.permission import Who, may, may_show, reachable_snapshots, viewer_scope, visible_snapshots
from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer, caller, caller_account, record_audit
from archivebox.api.paging import Page, Window, page_of
from archivebox.api.problems import ProblemError
from archivebox.api.routes.crawls import add
from archivebox.api.shapes.archive import ResultOut, SnapshotIn, SnapshotOut, SnapshotPatch, Text
from archivebox.base_models.paging import PlaceGoneError
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import Visibility
from archivebox.core.crawl_control.retry import retry_missing
from archivebox.core.crawl_control.set_visibility import show
from archivebox.core.intake.recapture import recapture
from archivebox.core.intake.request import CrawlRequest, Seed
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.core.tag import Tag
from archivebox.crawls import control
from archivebox.search.backend import search_turn
from archivebox.search.finding import ORDERS, page_found, snippets, sortable
from archivebox.search.query import Selection, chosen
from archivebox.search.query.parser import MOST_CHARACTERS
from archivebox.search.removal import bring_back, remove

router = Router(tags=["snapshots"])

Question = Annotated[str, StringConstraints(max_length=MOST_CHARACTERS, pattern=r"^[^\x00]*$")]
Change = Literal["pause", "resume", "cancel", "retry", "recapture"]
STEERED = {"pause": control.pause, "resume": control.resume, "cancel": control.cancel}


class SnapshotFilter(Schema):
    """Which Snapshots."""

    q: Annotated[Question, Field(description="In the query language (docs/query-language.md)")] = ""
    status: Literal["queued", "started", "sealed", "paused", "cancelled"] | None = None
    tag: Text | None = None
    url: Annotated[Text | None, Field(description="Every version of this URL")] = None
    crawl: UUID | None = None
    sort: Literal["newest", "oldest", "title", "host", "size", "worst"] = "newest"


@router.get("", response=Page[SnapshotOut], auth=Bearer(Action.LIST))
def list_snapshots(request: HttpRequest, wanted: Query[SnapshotFilter], window: Query[Window]) -> Page[SnapshotOut]:
    """Snapshots, the newest first, or as `sort` says; `worst` has those alone whose replay was measured."""
    who = caller(request)
    try:
        with search_turn(wanted.q):
            selection = found(who, wanted.q)
            selection = replace(selection, among=_chosen(selection.among, wanted))
            selection = selection.tagged(wanted.tag) if wanted.tag else selection
            page = page_found(sortable(selection, wanted.sort), window.place, window.limit, ORDERS[wanted.sort])
    except PlaceGoneError:
        raise ProblemError(422, "The cursor's page no longer exists. Start from the beginning.") from None
    prefetch_related_objects(page.rows, "created_by", "tags")
    return Page(items=SnapshotOut.all_of(page.rows, who, snippets(selection, page.rows)), next=page.older)


def found(who: Who, query: str) -> Selection:
    """What a query means to ``who``: texts are for those who may read them, what was removed for who may undo it."""
    return chosen(query, viewer_scope(who), removed=may(who, Action.EDIT), texts=may(who, Action.READ))


def _chosen(rows: SnapshotQuerySet, wanted: SnapshotFilter) -> SnapshotQuerySet:
    if wanted.status:
        rows = rows.in_status(wanted.status)
    if wanted.url:
        rows = rows.filter(url=wanted.url)
    return rows.of_crawl(wanted.crawl) if wanted.crawl else rows


def _with_facts(rows: SnapshotQuerySet) -> SnapshotQuerySet:
    return rows.select_related("created_by").prefetch_related("tags")


@router.post("", response={201: SnapshotOut}, auth=Bearer(Action.ADD))
def create_snapshot(request: HttpRequest, wanted: SnapshotIn) -> Status[SnapshotOut]:
    """Have one page archived."""
    seed = Seed(wanted.url, wanted.title, bookmarked_at=wanted.bookmarked_at)
    crawl = add(request, CrawlRequest(urls=[seed], tags=wanted.tags, visibility=wanted.visibility or ""))
    return Status(201, _one(crawl.snapshot_set.all(), crawl.snapshot_set.get().pk, caller(request)))


@router.get("/{uuid:snapshot_id}", response=SnapshotOut, auth=Bearer(Action.LIST))
def get_snapshot(request: HttpRequest, snapshot_id: UUID) -> SnapshotOut:
    """One Snapshot."""
    who = caller(request)
    return _one(visible_snapshots(who), snapshot_id, who)


def _one(rows: SnapshotQuerySet, key: UUID, who: Who) -> SnapshotOut:
    return SnapshotOut.all_of([_find(_with_facts(rows), key)], who)[0]


def _find(rows: SnapshotQuerySet, key: UUID) -> Snapshot:
    found: Snapshot | None = rows.filter(pk=key).first()
    if found is None:
        raise Http404
    return found


@router.patch("/{uuid:snapshot_id}", response=SnapshotOut, auth=Bearer(Action.EDIT))
def change_snapshot(request: HttpRequest, snapshot_id: UUID, wanted: SnapshotPatch) -> SnapshotOut:
    """Change its title, put other tags on it, or change who sees it."""
    who = caller(request)
    snapshot = _find(visible_snapshots(who), snapshot_id)
    if wanted.visibility is not None and not may_show(who, snapshot):
        raise ProblemError(403, "Only its owner and administrators can change its visibility.")
    with write_transaction():
        if wanted.visibility is not None:
            show(visible_snapshots(who).filter(pk=snapshot.pk), Visibility(wanted.visibility))
        if wanted.title is not None:
            visible_snapshots(who).filter(pk=snapshot.pk).update(title=wanted.title)
        if wanted.tags is not None:
            snapshot.tags.set([tag for name in wanted.tags if (tag := Tag.named(name)) is not None])
        record_audit(request, "snapshot.changed", snapshot, **wanted.dict(exclude_unset=True))
    return _one(visible_snapshots(who), snapshot_id, who)


@router.delete("/{uuid:snapshot_id}", response={204: None}, auth=Bearer(Action.EDIT))
def remove_snapshot(request: HttpRequest, snapshot_id: UUID) -> Status[None]:
    """Take it out of every list and search. Its files stay until retention: `restore` brings it back."""
    snapshot = _find(visible_snapshots(caller(request)), snapshot_id)
    with write_transaction():  # before it is done: the search is told outside of any transaction
        record_audit(request, "snapshot.removed", snapshot, url=snapshot.url)
    remove(visible_snapshots(caller(request)).filter(pk=snapshot.pk))
    return Status(204, None)


@router.post("/{uuid:snapshot_id}/restore", response=SnapshotOut, auth=Bearer(Action.EDIT))
def restore_snapshot(request: HttpRequest, snapshot_id: UUID) -> SnapshotOut:
    """Bring back what was removed."""
    who = caller(request)
    removed = reachable_snapshots(who).filter(retired_at__isnull=False)
    snapshot = _find(removed, snapshot_id)
    noting = partial(record_audit, request, "snapshot.restored", snapshot, url=snapshot.url)
    bring_back(removed.filter(pk=snapshot.pk), noting)
    return _one(visible_snapshots(who), snapshot_id, who)


@router.get("/{uuid:snapshot_id}/results", response=Page[ResultOut], auth=Bearer(Action.READ))
def list_results_of_snapshot(request: HttpRequest, snapshot_id: UUID, window: Query[Window]) -> Page[ResultOut]:
    """What each hook made of it."""
    who = caller(request)
    snapshot = _find(visible_snapshots(who), snapshot_id)
    rows = snapshot.archiveresult_set.select_related("iface")
    return page_of(rows, window, lambda found: ResultOut.all_of(found, who))


@router.post("/{uuid:snapshot_id}/{change}", response={200: SnapshotOut, 201: SnapshotOut}, auth=Bearer(Action.EDIT))
def steer_snapshot(request: HttpRequest, snapshot_id: UUID, change: Change) -> Status[SnapshotOut]:
    """Pause, resume or cancel it; try again what it lacks; or capture its URL again, which makes a new Snapshot."""
    who = caller(request)
    snapshot = _find(visible_snapshots(who), snapshot_id)
    if change == "recapture":
        return Status(201, _captured_again(request, snapshot))
    with write_transaction():
        if change == "retry":
            retry_missing(visible_snapshots(who).filter(pk=snapshot.pk))
        elif not STEERED[change](snapshot):
            raise ProblemError(409, f"It is {snapshot.status}: it cannot {change}.")
        record_audit(request, f"snapshot.{change}", snapshot, url=snapshot.url)
    return Status(200, _one(visible_snapshots(who), snapshot_id, who))


def _captured_again(request: HttpRequest, snapshot: Snapshot) -> SnapshotOut:
    alone = visible_snapshots(caller(request)).filter(pk=snapshot.pk)
    with write_transaction():
        may_name_private = may(caller(request), Action.ADMINISTER)
        crawl = recapture(alone, created_by=caller_account(request), may_name_private=may_name_private)
        record_audit(request, "crawl.created", crawl, urls=1)
    return _one(crawl.snapshot_set.all(), crawl.snapshot_set.get().pk, caller(request))
