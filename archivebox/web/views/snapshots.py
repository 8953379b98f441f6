"""Owns the page of one snapshot."""

from collections import defaultdict
from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from archivebox.contract.presentation import ranked
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.retry import RETRIABLE, retry_results
from archivebox.core.snapshot import Snapshot
from archivebox.hooks import outputs_of
from archivebox.machine.process import Process
from archivebox.replay.capability import Purpose
from archivebox.replay.origins import sandbox
from archivebox.web.access import public_if
from archivebox.web.cards import address_of, cards
from archivebox.web.headers import replay

FILES_SHOWN = 12
PROCESSES_SHOWN = 200


@dataclass
class File:
    """One file that a result left."""

    name: str
    address: str
    size: int
    mimetype: str


@dataclass
class Line:
    """One result as a snapshot's page shows it."""

    result: ArchiveResult
    files: list[File]
    more_files: int
    attempts: list[Process]


@public_if("PUBLIC_SNAPSHOTS")
def one(request: HttpRequest, snapshot_id: UUID) -> HttpResponse:
    """One snapshot: what was kept, what was not and why. POST tries again what failed, or runs the page's scripts.

    Scripts run in the answer to that POST alone: nobody can be led to them by a link.
    """
    snapshot = get_object_or_404(Snapshot.objects.kept().select_related("crawl", "created_by"), pk=snapshot_id)
    scripts = request.method == "POST" and "scripts" in request.POST
    if request.method == "POST" and not scripts and request.user.is_authenticated:
        count = retry_results(ArchiveResult.objects.filter(RETRIABLE, snapshot=snapshot))
        messages.success(request, f"{count} will be tried again." if count else "There is nothing to try again.")
        return redirect("snapshot", snapshot_id)
    card = cards(request, [snapshot])[0]
    results = list(snapshot.archiveresult_set.all())
    base = card.base()
    lines = _lines(base, results, snapshot if may_see_processes(request) else None)
    preview, wanted = _previews(lines, request.GET.get("view", ""))
    own = replay().isolates(request.get_host())
    context = {
        "snapshot": snapshot,
        "card": card,
        "lines": lines,
        "tags": snapshot.tags.all(),
        "busy": card.is_busy,
        "previews": preview,
        "preview": wanted,
        "base": base,
        "frame": wanted.address.replace(base, card.base(Purpose.SCRIPTS), 1) if wanted and scripts else "",
        "sandbox": sandbox(own=own, scripts=scripts),
        "may_run": own,
        "versions": Snapshot.objects.kept().of_url(snapshot.url).exclude(pk=snapshot.pk)[:20],
        "retriable": ArchiveResult.objects.filter(RETRIABLE, snapshot=snapshot).exists(),
    }
    return render(request, "web/snapshot.html", context)


def may_see_processes(request: HttpRequest) -> bool:
    """What ran here names files and versions of this machine: nothing for passers-by."""
    return request.user.is_authenticated


def _lines(base: str, results: list[ArchiveResult], snapshot: Snapshot | None) -> list[Line]:
    attempts: dict[UUID | None, list[Process]] = defaultdict(list)
    if snapshot is not None:
        for process in snapshot.process_set.order_by("-pk")[:PROCESSES_SHOWN]:
            attempts[process.archiveresult_id].append(process)
    results = sorted(results, key=lambda result: (result.hook_name or result.plugin, result.plugin))
    return [_line(base, result, attempts[result.pk]) for result in results]


def _line(base: str, result: ArchiveResult, attempts: list[Process]) -> Line:
    names = sorted(result.output_files.items())
    files = [
        File(name, base + address_of(result.plugin, name), about.get("size", 0), about.get("mimetype", ""))
        for name, about in names[:FILES_SHOWN]
    ]
    return Line(result, files, len(names) - len(files), attempts)


@dataclass
class Preview:
    """A file that is shown in a frame."""

    plugin: str
    label: str
    address: str
    is_picture: bool


def _previews(lines: list[Line], wanted: str) -> tuple[list[Preview], Preview | None]:
    found: list[Preview] = []
    kept = [line for line in lines if line.result.status == ArchiveResult.StatusChoices.SUCCEEDED]
    outputs = {line.result.plugin: outputs_of(line.result.plugin) for line in kept}
    for plugin, output in ranked(outputs, "preview") + ranked(outputs, "reader"):
        files = (file for line in kept if line.result.plugin == plugin for file in line.files)
        file = next((file for file in files if output.matches(file.name)), None)
        if file:
            label = output.label or plugin
            found.append(Preview(plugin, label, file.address, file.mimetype.startswith("image/")))
    pictures = [preview for preview in found if preview.is_picture]
    chosen = [preview for preview in found if preview.plugin == wanted] or pictures or found
    return found, chosen[0] if chosen else None
