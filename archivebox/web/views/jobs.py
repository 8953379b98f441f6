"""Owns the pages of jobs: what is done to many pages at once, begun here, and how far it is."""

from itertools import chain
from uuid import UUID

from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from archivebox.accounts import audit
from archivebox.accounts.permission import reachable_snapshots, viewer_scope
from archivebox.accounts.roles import Action
from archivebox.base_models.transactions import write_transaction
from archivebox.core.tag import split_tags
from archivebox.crawls import control
from archivebox.export.formats import FORMATS
from archivebox.imports.import_folder import LeftOutList
from archivebox.imports.page_files import Transfer
from archivebox.jobs.at_once import can_undo, do, undo
from archivebox.jobs.begin import JobRefusedError, JobRequest
from archivebox.jobs.importing import is_waiting
from archivebox.jobs.models import Job
from archivebox.jobs.permission import failures_among, visible_failures, visible_jobs
from archivebox.lib.csv_lines import csv_line
from archivebox.lib.jsonl import JSON
from archivebox.search.backend import SearchUnavailableError
from archivebox.search.query import QueryError
from archivebox.search.removal import plan_removal
from archivebox.web.auth.page_access import account_of, requires
from archivebox.web.page.list_paging import page_of, page_within

OFFERED = (
    "tag", "untag", "retry", "recapture", "verify", "sign", "compare", "export", "visibility", "remove", "restore",
)  # fmt: skip
"""Kinds that people begin."""
CHANGES = {"pause": control.pause, "resume": control.resume, "cancel": control.cancel}
DONE = {"pause": "Paused.", "resume": "Resumed.", "cancel": "Cancelled. Finished work is kept."}
COMPLETED = {
    "tag": "Tags added to {}.", "untag": "Tags removed from {}.", "retry": "Retrying failures of {}.",
    "recapture": "Capturing a new version of {}.", "remove": "{} removed.",
    "visibility": "Visibility of {} changed.", "restore": "{} restored.",
}  # fmt: skip
FAILURES_SHOWN = 50
VERBS = {Transfer.COPY: "copied", Transfer.LINK: "linked", Transfer.MOVE: "moved"}


@requires(Action.READ)
def index(request: HttpRequest) -> HttpResponse:
    """One's own jobs, the newest first; those of all to an administrator."""
    page = page_of(visible_jobs(request.user), request)
    busy = any(job.status in Job.OPEN for job in page.rows)
    lines = [(job, is_waiting(job)) for job in page.rows]
    return render(request, "web/jobs/index.html", {"page": page, "lines": lines, "busy": busy})


@require_POST
def start(request: HttpRequest) -> HttpResponse:
    """Do it at once to a few pages and go back, else begin a job and go to its page.

    ``kind``: one of OFFERED. Which pages: ``id`` (any number of them), or ``q`` with ``all``: all that the query means.
    Options: ``tags`` (with commas), ``plugins`` (any number), ``more_time``, ``reason``, ``format``. ``remove`` shows
    first what it would do, unless ``sure`` is there. ``job``: the pages of a removal instead.
    """
    query, keys, former = _chosen(request)
    try:
        kind = _kind(request)
        if kind == Job.Kind.REMOVE and "sure" not in request.POST:
            return _ask(request, query, keys)
        options, user = _options(request), account_of(request)
        wanted = JobRequest(kind, created_by=user, options=options, query=query, snapshots=keys, former=former)
        chosen = len(keys) or None
        job = do(wanted, noting=lambda job: audit.record(user, f"job.{kind}", job, query=query, snapshots=chosen))
    except (JobRefusedError, QueryError, SearchUnavailableError) as refused:
        return render(request, "web/jobs/refused.html", {"sentence": str(refused), "back": _back(request)}, status=422)
    if job.status in Job.OPEN or job.failed:
        return redirect("job", job.pk)
    pages = f"{job.done} page{'' if job.done == 1 else 's'}"
    messages.success(request, COMPLETED[job.kind].format(pages), extra_tags=str(job.pk) if can_undo(job) else "")
    return redirect(_back(request))


@require_POST
def reverse_job(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Undo what a job has done."""
    job = get_object_or_404(visible_jobs(request.user), pk=job_id)
    with write_transaction():  # before it is done: that is several transactions
        entry = audit.record(request.user, "job.undo", job)
    try:
        undo(job, account_of(request))
    except SearchUnavailableError as problem:
        entry.delete()
        messages.error(request, str(problem))
        return redirect(_back(request))
    messages.success(request, "Undone.")
    return redirect(_back(request))


def _kind(request: HttpRequest) -> str:
    kind = request.POST.get("kind", "")
    if kind not in OFFERED:
        raise JobRefusedError("Choose an action for these pages.")
    return kind


def _options(request: HttpRequest) -> dict[str, JSON]:
    """What this kind needs to know, of what the form had."""
    sent: dict[str, JSON] = {
        "tags": list(split_tags(request.POST.get("tags", ""))),
        "plugins": [name for name in request.POST.getlist("plugins") if name],
        "more_time": "more_time" in request.POST,
        "reason": request.POST.get("reason", ""),
        "format": request.POST.get("format", ""),
        "visibility": request.POST.get("visibility", ""),
    }
    wanted = {"tag": ("tags",), "untag": ("tags",), "retry": ("plugins", "reason"),
              "recapture": ("plugins", "more_time"), "export": ("format",), "visibility": ("visibility",)}  # fmt: skip
    return {name: sent[name] for name in wanted.get(request.POST.get("kind", ""), ())}


def _chosen(request: HttpRequest) -> tuple[str | None, list[UUID], Job | None]:
    """A query, or keys, or a job that was done to them; Http404 for what is no key."""
    if "all" in request.POST:
        return request.POST.get("q", "").strip(), [], None
    try:
        if "job" in request.POST:
            removals = visible_jobs(request.user).filter(kind=Job.Kind.REMOVE)
            return None, [], get_object_or_404(removals, pk=UUID(request.POST["job"]))
        return None, [UUID(key) for key in request.POST.getlist("id")], None
    except ValueError as error:
        raise Http404("no such page") from error


def _ask(request: HttpRequest, query: str | None, keys: list[UUID]) -> HttpResponse:
    """How many pages and bytes a removal concerns, and whether that is meant."""
    context = {
        "plan": plan_removal(query, keys, viewer_scope(request.user)),
        "query": query,
        "keys": keys,
        "back": _back(request),
    }
    return render(request, "web/jobs/remove.html", context)


def _back(request: HttpRequest, job: Job | None = None) -> str:
    """Where somebody came from, within the app; else the page of the job, if there is one."""
    wanted = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, {request.get_host()}):
        return wanted
    return reverse("snapshots") if job is None else reverse("job", args=[job.pk])


@requires(Action.READ)
def one(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """One job, and the pages to which it could not be done. POST pauses, resumes or cancels it, or deletes its file."""
    job = get_object_or_404(visible_jobs(request.user), pk=job_id)
    if is_waiting(job):
        return redirect("import", job.pk)
    if job.kind == Job.Kind.INSPECT and request.method != "POST":
        return redirect("import-archive", job.pk)
    if request.method == "POST":
        return _change(request, job)
    page = page_within(*failures_among(request.user, job), request, FAILURES_SHOWN)
    titles = reachable_snapshots(request.user).in_bulk([failure.snapshot_id for failure in page.rows])
    context = {
        "job": job,
        "busy": job.status in Job.OPEN,
        "page": page,
        "failures": [(failure, titles.get(failure.snapshot_id)) for failure in page.rows],
        "format": FORMATS.get(job.options.get("format", "")),
        "options": {name.replace("_", " "): value for name, value in job.options.items() if value and name != "format"},
    }
    if job.kind == Job.Kind.IMPORT_PAGES:
        left_out = LeftOutList(job.pk).first(FAILURES_SHOWN)
        context |= {"counts": job.memory["counts"], "options": _of_import(job), "left_out": left_out}
    return render(request, "web/jobs/one.html", context)


def _of_import(job: Job) -> dict[str, str]:
    return {"files": VERBS[job.options["transfer"]], "visibility": job.options["visibility"]}


def _change(request: HttpRequest, job: Job) -> HttpResponse:
    change = request.POST.get("change", "")
    if change not in {*CHANGES, "forget"}:
        raise Http404("no such change")
    with write_transaction():
        done = change == "forget" or CHANGES[change](job)
        if done:
            audit.record(request.user, f"job.{change}", job)
    if change == "forget":
        if job.file:
            job.file.unlink(missing_ok=True)
        messages.success(request, "File deleted.")
    elif done:
        messages.success(request, DONE[change])
    else:
        messages.error(request, f"The job is already {job.status}.")
    return redirect(_back(request, job))


@requires(Action.READ)
def file(request: HttpRequest, job_id: UUID) -> FileResponse:
    """What an export has written."""
    job = get_object_or_404(visible_jobs(request.user), pk=job_id, kind=Job.Kind.EXPORT)
    path, format_ = job.file, FORMATS[job.options["format"]]
    if path is None:
        raise Http404("no such file")
    name = f"archivebox-{job.created_at:%Y-%m-%d-%H%M}{format_.suffix}"
    return FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type=format_.media_type)


@requires(Action.READ)
def failures(request: HttpRequest, job_id: UUID) -> StreamingHttpResponse:
    """All pages to which it could not be done, as CSV."""
    job = get_object_or_404(visible_jobs(request.user), pk=job_id)
    rows = visible_failures(request.user, job).order_by("pk").values_list("snapshot_id", "sentence")
    lines = (csv_line([str(key), sentence]) for key, sentence in rows.iterator())
    answer = StreamingHttpResponse(chain([csv_line(["id", "why"])], lines), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="failures-{job.pk}.csv"'
    return answer
