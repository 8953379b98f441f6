"""Owns the list of crawls and the page of one."""

from uuid import UUID

from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from archivebox.accounts.roles import Action
from archivebox.core.snapshot import Snapshot
from archivebox.crawls import control
from archivebox.crawls.crawl import Crawl
from archivebox.web.access import requires
from archivebox.web.cards import cards
from archivebox.web.paging import page_of

CHANGES = {"pause": control.pause, "resume": control.resume, "cancel": control.cancel}


@requires(Action.READ)
def index(request: HttpRequest) -> HttpResponse:
    page = page_of(Crawl.objects.select_related("created_by"), request)
    rows = Crawl.objects.filter(pk__in=[row.pk for row in page.rows])
    counts = dict(rows.annotate(pages=Count("snapshot")).values_list("pk", "pages"))
    lines = [(crawl, counts.get(crawl.pk, 0)) for crawl in page.rows]
    busy = any(crawl.status in Crawl.OPEN for crawl in page.rows)
    return render(request, "web/crawls.html", {"page": page, "lines": lines, "busy": busy})


@requires(Action.READ)
def one(request: HttpRequest, crawl_id: UUID) -> HttpResponse:
    """One crawl and its snapshots. POST pauses, resumes or cancels it."""
    crawl = get_object_or_404(Crawl.objects.select_related("created_by"), pk=crawl_id)
    if request.method == "POST":
        return _change(request, crawl)
    rows = Snapshot.objects.kept().filter(crawl=crawl)
    by_status = rows.values_list("status").annotate(Count("pk")).order_by("status")
    page = page_of(rows, request)
    context = {
        "crawl": crawl,
        "counts": list(by_status),
        "page": page,
        "cards": cards(request, page.rows),
        "busy": crawl.status in Crawl.OPEN,
        "changes": _possible(crawl),
    }
    return render(request, "web/crawl.html", context)


def _change(request: HttpRequest, crawl: Crawl) -> HttpResponse:
    change = request.POST.get("change", "")
    if change not in CHANGES:
        raise Http404("no such change")
    if CHANGES[change](crawl):
        messages.success(request, {"pause": "Paused.", "resume": "It goes on.", "cancel": "Cancelled."}[change])
    else:
        messages.error(request, f"It is {Crawl.objects.get(pk=crawl.pk).status} already.")
    return redirect("crawl", crawl.pk)


def _possible(crawl: Crawl) -> list[str]:
    if crawl.status in Crawl.OPEN:
        return ["pause", "cancel"]
    return ["resume", "cancel"] if crawl.status == Crawl.StatusChoices.PAUSED else []
