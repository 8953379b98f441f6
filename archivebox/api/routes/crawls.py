"""Crawls: what was asked for, how far it is, and steering it."""

from functools import partial
from typing import Annotated, Literal
from uuid import UUID

from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field

from archivebox.accounts.permission import Who, may_show, requester_of, viewer_scope, visible_crawls, visible_snapshots
from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer, caller, record_audit
from archivebox.api.paging import Page, Window, page_of
from archivebox.api.problems import ProblemError
from archivebox.api.shapes.archive import CountOut, CrawlDetail, CrawlIn, CrawlOut, CrawlPatch
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import Visibility
from archivebox.core.crawl_control.retry import retry_missing
from archivebox.core.crawl_control.set_visibility import show_crawl
from archivebox.core.intake.request import CrawlRequest, Requester
from archivebox.core.intake.submit import submit
from archivebox.core.progress.crawl_progress import counts_of
from archivebox.crawls import control
from archivebox.crawls.crawl import Crawl
from archivebox.search.removal import remove


def add(request: HttpRequest, wanted: CrawlRequest) -> Crawl:
    """The crawl of a request that captures whatever it names. RequestRefusedError."""
    return submit(wanted, requester(request), partial(record_audit, request, "crawl.created")).made


def requester(request: HttpRequest) -> Requester:
    """Who asks."""
    return requester_of(caller(request), request.META.get("REMOTE_ADDR", ""))


router = Router(tags=["crawls"])
Change = Literal["pause", "resume", "cancel"]
STEERED = {"pause": control.pause, "resume": control.resume, "cancel": control.cancel}


class CrawlFilter(Schema):
    """Which crawls."""

    status: Literal["queued", "started", "sealed", "paused", "cancelled"] | None = None
    schedule: Annotated[UUID | None, Field(description="Those that this schedule made")] = None


@router.get("", response=Page[CrawlOut], auth=Bearer(Action.READ))
def list_crawls(request: HttpRequest, wanted: Query[CrawlFilter], window: Query[Window]) -> Page[CrawlOut]:
    """Crawls, the newest first."""
    who = caller(request)
    rows = visible_crawls(who).filter(**wanted.dict(exclude_none=True))
    return page_of(rows, window, lambda found: CrawlOut.all_of(found, who))


@router.post("", response={201: CrawlDetail}, auth=Bearer(Action.ADD))
def create_crawl(request: HttpRequest, wanted: CrawlIn) -> Status[CrawlDetail]:
    """Have URLs archived, and what they link to as deep as `depth` says."""
    return Status(201, _shown(add(request, wanted.request()), caller(request)))


@router.get("/{uuid:crawl_id}", response=CrawlDetail, auth=Bearer(Action.READ))
def get_crawl(request: HttpRequest, crawl_id: UUID) -> CrawlDetail:
    """One crawl, and how far it is."""
    return detail_of(crawl_id, caller(request))


def detail_of(key: UUID, who: Who) -> CrawlDetail:
    """One crawl as the API shows it. Http404."""
    return _shown(_find(key, who), who)


def _shown(crawl: Crawl, who: Who) -> CrawlDetail:
    return CrawlDetail(**CrawlOut.all_of([crawl], who)[0].dict(), snapshots=counts_of(crawl, viewer_scope(who)))


def _find(key: UUID, who: Who) -> Crawl:
    found: Crawl | None = visible_crawls(who).filter(pk=key).first()
    if found is None:
        raise Http404
    return found


@router.patch("/{uuid:crawl_id}", response=CrawlDetail, auth=Bearer(Action.EDIT))
def change_crawl(request: HttpRequest, crawl_id: UUID, wanted: CrawlPatch) -> CrawlDetail:
    """Give it another label, or change who sees it and its pages."""
    crawl = _find(crawl_id, caller(request))
    if wanted.visibility is not None and not may_show(caller(request), crawl):
        raise ProblemError(403, "Only its owner and administrators can change its visibility.")
    with write_transaction():
        if wanted.label is not None:
            visible_crawls(caller(request)).filter(pk=crawl.pk).update(label=wanted.label)
        record_audit(request, "crawl.changed", crawl, **wanted.dict(exclude_unset=True))
    if wanted.visibility is not None:
        show_crawl(crawl, Visibility(wanted.visibility), lambda: None)
    return detail_of(crawl_id, caller(request))


@router.delete("/{uuid:crawl_id}", response=CountOut, auth=Bearer(Action.EDIT))
def remove_crawl(request: HttpRequest, crawl_id: UUID) -> CountOut:
    """End it, and take its Snapshots out of every list; each of them can be restored."""
    crawl = _find(crawl_id, caller(request))
    pages = visible_snapshots(caller(request)).filter(crawl=crawl)
    with write_transaction():  # before it is done: pages are removed in transactions of their own
        record_audit(request, "crawl.removed", crawl, snapshots=pages.count())
    control.cancel(crawl)
    count, _ = remove(pages)
    return CountOut(count=count)


@router.post("/{uuid:crawl_id}/retry", response=CountOut, auth=Bearer(Action.EDIT))
def retry_crawl(request: HttpRequest, crawl_id: UUID) -> CountOut:
    """Try again what its Snapshots lack; says of how many results."""
    crawl = _find(crawl_id, caller(request))
    with write_transaction():
        count = retry_missing(visible_snapshots(caller(request)).filter(crawl=crawl))
        record_audit(request, "crawl.retry", crawl, results=count)
    return CountOut(count=count)


@router.post("/{uuid:crawl_id}/{change}", response=CrawlDetail, auth=Bearer(Action.EDIT))
def steer_crawl(request: HttpRequest, crawl_id: UUID, change: Change) -> CrawlDetail:
    """Pause, resume or cancel it."""
    crawl = _find(crawl_id, caller(request))
    with write_transaction():
        if not STEERED[change](crawl):
            raise ProblemError(409, f"It is {crawl.status}: it cannot {change}.")
        record_audit(request, f"crawl.{change}", crawl)
    return detail_of(crawl_id, caller(request))
