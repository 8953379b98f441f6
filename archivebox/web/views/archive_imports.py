"""Owns the pages that import archived pages: a source is named or uploaded, what is in it is shown, then imported."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from archivebox.accounts import audit
from archivebox.accounts.roles import Action
from archivebox.base_models.transactions import write_transaction
from archivebox.core.intake.add_urls import default_visibility
from archivebox.hooks import base_layers, resolve_settings
from archivebox.imports.import_folder import LeftOutList
from archivebox.imports.page import NotReadableError
from archivebox.imports.page_files import Transfer
from archivebox.imports.sources import PIECE, import_root
from archivebox.jobs import inspecting
from archivebox.jobs.begin import JobRefusedError
from archivebox.jobs.inspecting import REPORT, ImportChoices, report_of
from archivebox.jobs.models import Job
from archivebox.jobs.permission import visible_jobs
from archivebox.web.auth.page_access import account_of, allows, confirm_and_resume, is_confirmed, posted, requires
from archivebox.web.page.visibility_form import SEEN_BY
from archivebox.web.views.jobs import CHANGES

IMPORTS_SHOWN = 20
LEFT_OUT_SHOWN = 50
WAYS = [
    (Transfer.COPY, "Copy: they stay where they are"),
    (Transfer.LINK, "Link: both share their content on one disk (hard links)"),
    (Transfer.MOVE, "Move: they are deleted there once everything was imported and compared"),
]


class PathForm(forms.Form):
    """A folder or file of the server."""

    path = forms.CharField(
        label="Folder or file on the server",
        max_length=4096,
        strip=True,
        widget=forms.TextInput(attrs={"placeholder": "/srv/old-archivebox", "spellcheck": "false"}),
    )


class UploadForm(forms.Form):
    """A file of whoever asks."""

    file = forms.FileField(label="Upload a file", allow_empty_file=True)


class AnnouncedForm(forms.Form):
    """A file that a script sends in pieces."""

    name = forms.CharField(max_length=1_000)
    size = forms.IntegerField(min_value=0)


class ImportForm(forms.Form):
    """How what was found is imported."""

    transfer = forms.ChoiceField(label="Files", choices=WAYS, initial=Transfer.COPY, widget=forms.RadioSelect)
    visibility = forms.ChoiceField(label="Visible to", choices=SEEN_BY)
    whole = forms.BooleanField(label="Accounts, schedules and settings, too", required=False)

    def __init__(self, given: Mapping[str, Any] | None = None, *, job: Job) -> None:
        super().__init__(given, initial={"visibility": default_visibility({}).value})
        if inspecting.upload_of(job) is not None:
            del self.fields["transfer"]
        if not job.memory[REPORT]["has_more"]:
            del self.fields["whole"]

    def choices(self) -> ImportChoices:
        chosen = self.cleaned_data
        way = Transfer(chosen.get("transfer") or Transfer.COPY)
        return ImportChoices(way, chosen["visibility"], whole=chosen.get("whole", False))


@requires(Action.EDIT)
def index(request: HttpRequest) -> HttpResponse:
    """Take a path or a file, and go to the page that says what is in it; the imports of before are below."""
    sent = posted(request)
    named = PathForm(sent if "path" in sent else None, initial={"path": request.GET.get("path", "")})
    upload = UploadForm(request.POST if "path" not in request.POST else None, request.FILES)
    if request.method == "POST" and "size" in request.POST:
        return _announce(request)
    if "path" in sent and named.is_valid():
        return _name(request, named)
    if request.method == "POST" and "path" not in request.POST and upload.is_valid():
        return _upload(request, upload)
    return _index(request, named, UploadForm() if request.method != "POST" else upload)


def _index(request: HttpRequest, named: PathForm, upload: UploadForm) -> HttpResponse:
    root, most = import_root(), resolve_settings(base_layers()).get_int("IMPORT_UPLOAD_MAX")
    context = {
        "named": named if root and allows(request, Action.ADMINISTER) else None,
        "root": root, "upload": upload if most else None, "most": most, "piece": PIECE,
        "lines": [(job, _name_of(job)) for job in _archive_imports(request)[:IMPORTS_SHOWN]],
    }  # fmt: skip
    return render(request, "web/imports/archives.html", context, status=422 if request.method == "POST" else 200)


def _archive_imports(request: HttpRequest) -> "QuerySet[Job, Any]":
    """Sources that wait to be imported, and imports; one's own, or to administrators all."""
    rows = visible_jobs(request.user).filter(kind__in=[Job.Kind.INSPECT, Job.Kind.IMPORT_PAGES])
    return rows.exclude(kind=Job.Kind.INSPECT, memory__has_key="import").order_by("-pk")


def _name_of(job: Job) -> str:
    return str(job.memory.get("name") or job.options["path"])


# --- a source is given -------------------------------------------------------------------------------------------


def _name(request: HttpRequest, named: PathForm) -> HttpResponse:
    """Whoever names what lies on the server has just shown who they are: a stolen session reads nothing there."""
    if not allows(request, Action.ADMINISTER):
        raise PermissionDenied
    path = named.cleaned_data["path"]
    if not is_confirmed(request):
        return confirm_and_resume(request, f"The server will read {path}, with its own permissions.")
    try:
        job = inspecting.inspect_path(
            path, account_of(request), partial(audit.record, request.user, "import.inspected", path=path)
        )
    except NotReadableError as problem:
        named.add_error("path", str(problem))
        return _index(request, named, UploadForm())
    return redirect("import-archive", job.pk)


def _upload(request: HttpRequest, upload: UploadForm) -> HttpResponse:
    """The whole file at once, where no script sends it in pieces."""
    file = upload.cleaned_data["file"]
    try:
        job = _expect(request, file.name, file.size)
        _receive_all(job, file.chunks(PIECE))
    except NotReadableError as problem:
        upload.add_error("file", str(problem))
        return _index(request, PathForm(), upload)
    return redirect("import-archive", job.pk)


def _receive_all(job: Job, pieces: Iterable[bytes]) -> None:
    received = 0
    for piece in pieces:
        received = inspecting.receive(job, received, piece)


def _announce(request: HttpRequest) -> JsonResponse:
    asked = AnnouncedForm(request.POST)
    if not asked.is_valid():
        return JsonResponse({"problem": "A file has a name and a size."}, status=422)
    try:
        job = _expect(request, asked.cleaned_data["name"], asked.cleaned_data["size"])
    except NotReadableError as problem:
        return JsonResponse({"problem": str(problem)}, status=422)
    return JsonResponse({"page": reverse("import-archive", args=[job.pk]), "received": 0})


def _expect(request: HttpRequest, name: str, length: int) -> Job:
    return inspecting.expect_upload(
        name, length, account_of(request), partial(audit.record, request.user, "import.uploading", name=name[:200])
    )


@require_POST
@requires(Action.EDIT)
def piece(request: HttpRequest, job_id: UUID) -> JsonResponse:
    """Keep a piece of a file, which begins at the byte ``?offset=``; says how many bytes are there."""
    job = get_object_or_404(_inspections(request), pk=job_id)
    offset = request.GET.get("offset", "")
    if not (offset.isascii() and offset.isdigit() and len(offset) < 19):
        raise Http404("no such byte")
    try:
        received = inspecting.receive(job, int(offset), request.body)
    except FileNotFoundError:
        return JsonResponse({"problem": "It was cancelled, or has arrived already."}, status=409)
    except NotReadableError as problem:
        return JsonResponse({"problem": str(problem)}, status=422)
    except OSError as problem:
        return JsonResponse({"problem": f"The server cannot keep it: {problem.strerror}."}, status=507)
    return JsonResponse({"received": received})


# --- what is in it -----------------------------------------------------------------------------------------------


@requires(Action.EDIT)
def one(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """What was found; POST imports it, discards it, or has the reading of it go on."""
    job = get_object_or_404(_inspections(request), pk=job_id)
    if importing := inspecting.import_of(job):
        return redirect("job", importing)
    sent = posted(request)
    change = sent.get("change", "")
    if change == "discard":
        return _discard(request, job)
    if change == "resume":
        _steer(request, job, change)
        return redirect("import-archive", job.pk)
    if sent and job.awaits_decision:
        return _begin(request, job, ImportForm(sent, job=job))
    return _page(request, job, ImportForm(job=job) if job.awaits_decision else None)


def _inspections(request: HttpRequest) -> "QuerySet[Job, Any]":
    return visible_jobs(request.user).filter(kind=Job.Kind.INSPECT)


def _begin(request: HttpRequest, job: Job, asked: ImportForm) -> HttpResponse:
    is_administrator = allows(request, Action.ADMINISTER)
    if inspecting.needs_administrator(job) and not is_administrator:
        raise PermissionDenied
    if not asked.is_valid():
        return _page(request, job, asked, status=422)
    if inspecting.upload_of(job) is None and not is_confirmed(request):
        adds = "add accounts, administrators among them" if asked.choices().whole else "read files of the server"
        return confirm_and_resume(request, f"This import can {adds}.")
    try:
        noting = partial(audit.record, request.user, "import.begun", name=_name_of(job))
        importing = inspecting.start(job, account_of(request), asked.choices(), noting)
    except JobRefusedError as problem:
        messages.error(request, str(problem))
        return redirect("import-archive", job.pk)
    return redirect("job", importing.pk)


def _discard(request: HttpRequest, job: Job) -> HttpResponse:
    if job.status in Job.OPEN:
        _steer(request, job, "cancel")
    elif inspecting.discard(job):
        messages.success(request, f"{_name_of(job)} was discarded. Nothing was imported.")
        return redirect("import-archives")
    return redirect("import-archive", job.pk)


def _steer(request: HttpRequest, job: Job, change: str) -> None:
    with write_transaction():
        if CHANGES[change](job):
            audit.record(request.user, f"job.{change}", job)


def _page(request: HttpRequest, job: Job, asked: ImportForm | None, status: int = 200) -> HttpResponse:
    upload, left_out = inspecting.upload_of(job), LeftOutList(job.pk)
    context = {
        "job": job, "name": _name_of(job), "busy": job.status in Job.OPEN, "form": asked, "report": report_of(job),
        "left_out": left_out.first(LEFT_OUT_SHOWN), "left_out_count": job.memory.get(REPORT, {}).get("left_out", 0),
        "upload": upload, "is_uploading": inspecting.is_uploading(job), "piece": PIECE,
        "is_there": upload is None or upload.received == upload.size,
        "may_import": allows(request, Action.ADMINISTER) or not inspecting.needs_administrator(job),
    }  # fmt: skip
    return render(request, "web/imports/archive.html", context, status=status)


@requires(Action.READ)
def left_out(request: HttpRequest, job_id: UUID) -> FileResponse:
    """What is not imported and why, as CSV: before it begins, and of an import."""
    job = get_object_or_404(visible_jobs(request.user), pk=job_id)
    path = LeftOutList(job.pk).path
    if not path.is_file():
        raise Http404("no such file")
    return FileResponse(path.open("rb"), as_attachment=True, filename=path.name, content_type="text/csv; charset=utf-8")
