"""Owns the pages of imports: a list is given, what was found in it is shown, and then it is added, or not."""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any, BinaryIO, cast
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from archivebox.accounts import audit
from archivebox.accounts.permission import requester_of, viewer_scope, visible_crawls
from archivebox.accounts.roles import Action
from archivebox.base_models.transactions import write_transaction
from archivebox.core.intake.request import CrawlRequest, RequestRefusedError, UrlList
from archivebox.core.progress.failure_groups import failed_pages
from archivebox.crawls.models import Crawl
from archivebox.jobs import importing
from archivebox.jobs.at_once import undo
from archivebox.jobs.importing import Imported
from archivebox.jobs.models import Job
from archivebox.jobs.permission import visible_jobs
from archivebox.lib.csv_lines import csv_line
from archivebox.lib.links.formats import ListFormat
from archivebox.web.auth.page_access import account_of, requires
from archivebox.web.page.crawl_form import typed
from archivebox.web.page.list_paging import page_of
from archivebox.web.views.add import REFUSALS_SHOWN, AddForm
from archivebox.web.views.crawls import pages_part

PASTED = "pasted text"
FOUND_SHOWN = 20
"""URLs of a list that are shown with their titles, dates and tags before they are added."""


class ListForm(forms.Form):
    """A list, as a file or as text."""

    file = forms.FileField(
        label="A file",
        required=False,
        allow_empty_file=True,
        help_text="Bookmarks or history of a browser, an export of a bookmark or read-later service, OPML, CSV, JSON, "
        "a feed, a sitemap, Markdown, HTML, WARC, WACZ, or URLs one a line; up to 64 MB and 200,000 URLs.",
    )
    parts = forms.ChoiceField(
        label="Of Firefox's places.sqlite",
        choices=[(ListFormat.AUTO, "Bookmarks"), (ListFormat.HISTORY, "Visited pages")],
        required=False,
    )
    urls = forms.CharField(
        label="Or paste it", required=False, widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"})
    )

    def given(self) -> Iterator[UrlList]:
        if file := self.cleaned_data.get("file"):
            yield UrlList(cast("BinaryIO", file.file), str(file.name))
        yield from typed(self.cleaned_data.get("urls", ""), PASTED)

    def request(self) -> CrawlRequest:
        return CrawlRequest(
            lists=list(self.given()), list_format=ListFormat(self.cleaned_data["parts"] or ListFormat.AUTO)
        )


class ChoicesForm(AddForm):
    """How what was found is to be archived."""

    urls = None  # type: ignore[assignment]  # Django's way to leave a field of the parent out
    file = None  # type: ignore[assignment]  # the same


@requires(Action.EDIT)
def index(request: HttpRequest) -> HttpResponse:
    """Take a list, and go to the page that says what was found in it; the imports of before are below."""
    asked = ListForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and asked.is_valid() and (job := _begin_import(request, asked)):
        return redirect("import", job.pk)
    page = page_of(_imports(request), request)
    lines = [(job, importing.is_waiting(job)) for job in page.rows]
    context = {"form": asked, "page": page, "lines": lines}
    return render(request, "web/imports/index.html", context, status=422 if request.method == "POST" else 200)


def _begin_import(request: HttpRequest, asked: ListForm) -> Job | None:
    """Read it; None where it cannot be, which the form then says."""
    wanted = asked.request()
    name = wanted.lists[0].name if wanted.lists else PASTED
    noting = partial(audit.record, request.user, "import.read", name=name)
    try:
        return importing.accept_list(wanted, requester_of(request.user), name, noting)
    except RequestRefusedError as error:
        asked.add_error("file" if asked.cleaned_data.get("file") else "urls", str(error))
        return None


def _imports(request: HttpRequest) -> "QuerySet[Job, Any]":
    """One's own, as a list may have what is for nobody else; administrators see all."""
    return visible_jobs(request.user).imports()


@requires(Action.EDIT)
def one(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """What was found in a list; POST adds it, gives it up, or undoes it."""
    job = get_object_or_404(_imports(request), pk=job_id)
    change = request.POST.get("change", "")
    if change == "undo":
        with write_transaction():  # before it is done: that is several transactions
            audit.record(request.user, "job.undo", job)
        undo(job, account_of(request))
        messages.success(request, "Import undone. Its pages were removed from the library.")
        return redirect("import", job.pk)
    if not importing.is_waiting(job):
        return _page(request, job)
    if change == "forget":
        importing.forget(job)
        messages.success(request, f"The list of {job.memory['name']} was discarded. Nothing was added.")
        return redirect("imports")
    return _add(request, job) if request.method == "POST" else _page(request, job, ChoicesForm(user=request.user))


def _add(request: HttpRequest, job: Job) -> HttpResponse:
    asked = ChoicesForm(request.POST, user=request.user)
    if not asked.is_valid():
        return _page(request, job, asked, status=422)
    noting = partial(audit.record, request.user, "import.begun", name=job.memory["name"])
    if not importing.start(job, asked.request(), noting):
        asked.add_error("again", "Everything is already archived.")
        return _page(request, job, asked, status=422)
    return redirect("import", job.pk)


def _page(request: HttpRequest, job: Job, asked: ChoicesForm | None = None, status: int = 200) -> HttpResponse:
    files, crawl = Imported(job.pk), _crawl_of(request, job)
    has_refused = bool(job.memory["refused"]) and files.refused.is_file()
    context = {
        "job": job, "found": job.memory, "form": asked, "busy": job.status in Job.OPEN,
        "has_refused": has_refused, "refused": files.first_refusals(REFUSALS_SHOWN) if has_refused else [],
        "is_there": asked is None or files.found.is_file(), "crawl": crawl,
        "first": files.first_found(FOUND_SHOWN) if asked is not None and files.found.is_file() else [],
    }  # fmt: skip
    if crawl is not None:
        context |= {"crawl_is_open": crawl.status in Crawl.OPEN, **pages_part(request, crawl)}
    return render(request, "web/imports/one.html", context, status=status)


def _crawl_of(request: HttpRequest, job: Job) -> Crawl | None:
    """The crawl of its pages, if it has begun to add them."""
    key = job.memory.get("crawl")
    return visible_crawls(request.user).filter(pk=key).first() if key else None


@requires(Action.EDIT)
def failed(request: HttpRequest, job_id: UUID) -> StreamingHttpResponse:
    """The URLs of which something could not be kept, as CSV."""
    crawl = _crawl_of(request, get_object_or_404(_imports(request), pk=job_id))
    rows = failed_pages(crawl.pk, viewer_scope(request.user)) if crawl is not None else ()
    lines = map(csv_line, chain([("url", "why")], rows))
    answer = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="failed-{job_id}.csv"'
    return answer


@requires(Action.EDIT)
def refused(request: HttpRequest, job_id: UUID) -> FileResponse:
    """The lines without a URL, as CSV."""
    job = get_object_or_404(_imports(request), pk=job_id)
    path = Imported(job.pk).refused
    if not path.is_file():
        raise Http404("no such file")
    return FileResponse(
        path.open("rb"), as_attachment=True, filename=f"not-taken-{job.pk}.csv", content_type="text/csv; charset=utf-8"
    )
