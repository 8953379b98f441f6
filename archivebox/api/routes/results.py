"""Results: what each hook made of each Snapshot."""

from typing import Literal
from uuid import UUID

from django.db.models import Q
from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema

from archivebox.accounts.permission import Who, results_among, visible_results
from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer, caller, record_audit
from archivebox.api.paging import Page, Window, page_within
from archivebox.api.shapes.archive import ResultOut, Text
from archivebox.base_models.transactions import write_transaction
from archivebox.core.archiveresult import ArchiveResult, ArchiveResultQuerySet
from archivebox.core.crawl_control.retry import retry_results

router = Router(tags=["results"])
Status = Literal["queued", "started", "backoff", "succeeded", "noresults", "failed", "skipped"]


class ResultFilter(Schema):
    """Which results."""

    status: Status | None = None
    plugin: Text | None = None
    reason: Text | None = None


@router.get("", response=Page[ResultOut], auth=Bearer(Action.READ))
def list_results(request: HttpRequest, wanted: Query[ResultFilter], window: Query[Window]) -> Page[ResultOut]:
    """Results, the newest first."""
    who = caller(request)
    rows, seen = results_among(who)
    rows = rows.select_related("iface")
    chosen = seen & Q(**wanted.dict(exclude_none=True))
    return page_within(_few(rows, wanted.status), chosen, window, lambda found: ResultOut.all_of(found, who))


def _few(rows: ArchiveResultQuerySet, status: str | None) -> ArchiveResultQuerySet:
    """Of those that are not done an index knows each."""
    if status in ("queued", "started"):
        return rows.filter(pk__in=rows.unfinished().values("pk"))
    return rows.filter(pk__in=rows.in_back_off().values("pk")) if status == "backoff" else rows


@router.get("/{uuid:result_id}", response=ResultOut, auth=Bearer(Action.READ))
def get_result(request: HttpRequest, result_id: UUID) -> ResultOut:
    """One result."""
    who = caller(request)
    return ResultOut.all_of([_find(who, result_id)], who)[0]


@router.post("/{uuid:result_id}/retry", response=ResultOut, auth=Bearer(Action.EDIT))
def retry_result(request: HttpRequest, result_id: UUID) -> ResultOut:
    """Run its hook again, now."""
    who = caller(request)
    result = _find(who, result_id)
    with write_transaction():
        retry_results(visible_results(who).filter(pk=result.pk))
        record_audit(request, "result.retry", result, plugin=result.plugin)
    return ResultOut.all_of([_find(who, result_id)], who)[0]


def _find(who: Who, key: UUID) -> ArchiveResult:
    found = visible_results(who).select_related("iface").filter(pk=key).first()
    if found is None:
        raise Http404
    return found
