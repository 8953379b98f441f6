"""Owns the page of one snapshot: what was kept, as it is best looked at, what was not, and why."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from archivebox.accounts.permission import may_show, reachable_snapshots, viewer_scope
from archivebox.accounts.roles import Action
from archivebox.contract.formats import File, Format, FormatKind, formats_of
from archivebox.contract.verdicts import State, judge
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.crawl_control.retry import RETRIABLE
from archivebox.core.snapshot import Snapshot
from archivebox.core.unchanged_check import UnchangedCheck
from archivebox.hooks import outputs_of
from archivebox.machine.binary import Binary
from archivebox.machine.process import Process
from archivebox.replay.capability import Purpose
from archivebox.replay.origins import sandbox
from archivebox.web.auth.page_access import allows, public_if
from archivebox.web.library.share_links import shares_of
from archivebox.web.middleware import replay
from archivebox.web.page.cards import cards
from archivebox.web.page.visibility_form import SEEN_BY
from archivebox.web.snapshot.archive_links import links_of
from archivebox.web.snapshot.format_views import Stage, files_stage, stage_of
from archivebox.web.snapshot.plugin_templates import Place, drawn, has_template, title_of
from archivebox.web.snapshot.replay_frame import frame_of, index_of, preferred_copy, quality_of, scripted_frame
from archivebox.web.snapshot.result_list import group_results, timeline_of
from archivebox.web.snapshot.version_strip import linked_from, strip_of

PROCESSES_SHOWN = 400
PAGES = frozenset({"", "text/html", "application/xhtml+xml"})
"""Media types of URLs whose replay is worth a look: of a picture or a PDF its file is."""
KEYS = 9
"""Formats that a digit opens."""


@public_if("PUBLIC_SNAPSHOTS", to_change=Action.READ)
def one(request: HttpRequest, snapshot_id: UUID) -> HttpResponse:
    """One snapshot. POST runs the scripts of the archived page, in the answer to that POST alone: no link can do it."""
    snapshot = snapshot_or_404(request, snapshot_id)
    if snapshot.retired_at:
        look = UnchangedCheck.objects.filter(instead=snapshot.pk).first()
        return render(request, "web/removed.html", {"snapshot": snapshot, "look": look}, status=410)
    card = cards(request, [snapshot])[0]
    results = results_of(snapshot)
    showing = Showing(
        request, snapshot, results, card.base(Purpose.SCRIPTS if _wants_scripts(request) else Purpose.FILES)
    )
    busy = not showing.verdict.is_final
    strip = strip_of(snapshot, viewer_scope(request.user))
    context = showing.context() | {
        "snapshot": snapshot,
        "card": card,
        "strip": strip,
        "linked": None if busy else linked_from(snapshot, strip),
        "busy": busy,
        "is_at_work": busy and snapshot.status == Snapshot.StatusChoices.STARTED,
        "is_watchable": busy and request.user.is_authenticated and not showing.is_full,
    }
    if not showing.is_full:
        context |= _beside(request, snapshot, results) | _below(request, snapshot, results, showing.base)
    return render(request, "web/snapshot.html", context)


def _wants_scripts(request: HttpRequest) -> bool:
    return request.method == "POST" and replay().isolates(request.get_host())


class Showing:
    """The formats of a snapshot, and the one that is chosen."""

    def __init__(self, request: HttpRequest, snapshot: Snapshot, results: list[ArchiveResult], base: str) -> None:
        self.base = base
        self.is_full = "full" in request.GET
        self.scripts = _wants_scripts(request)
        self.verdict = judge(snapshot.status, snapshot.http_status, results, outputs_of)
        self._snapshot, self._results = snapshot, results
        self._file = request.GET.get("file", "")
        self._sandbox = sandbox(own=replay().isolates(request.get_host()), scripts=self.scripts)
        self._frame = frame_of(request, snapshot) if snapshot.mime_type in PAGES else None
        self._quality = quality_of(snapshot, results)
        self._copy = preferred_copy(self._quality, results)
        self.formats = self._formats()
        self.chosen = self._choose(request.GET.get("view", ""))
        if self.scripts and self.chosen and self.chosen.kind is FormatKind.REPLAY:
            self._frame = scripted_frame(request, snapshot)

    def context(self) -> dict[str, Any]:
        """What the template needs of it."""
        icons = {one.plugin: self._drawn(one, "icon") for one in self._results if has_template(one.plugin, "icon")}
        main = [one for one in self.formats if not one.is_aside]
        return {
            "base": self.base,
            "verdict": self.verdict,
            "main": [(number if number <= KEYS else 0, one) for number, one in enumerate(main, 1)],
            "aside": [one for one in self.formats if one.is_aside],
            "icons": icons,
            "chosen": self.chosen,
            "stage": self._stage(self.chosen) if self.chosen else None,
            "sandbox": self._sandbox,
            "scripts": self.scripts,
            "frame": self._frame,
            "may_run": self._may_run,
            "may_script": self._frame is not None and "allow-same-origin" in self._sandbox,
            "is_full": self.is_full,
            "copy": None if self.scripts else self._copy,
            "quality": self._quality if self._frame else None,
            "missing": len(index_of(self._snapshot).failures) if self._frame else 0,
        }

    @property
    def _may_run(self) -> bool:
        """Whether the chosen format is a page whose scripts may be switched on: only on an origin of its own."""
        is_page = self.chosen is not None and self.chosen.kind in {FormatKind.REPLAY, FormatKind.PAGE}
        return is_page and "allow-same-origin" in self._sandbox

    def _formats(self) -> list[Format]:
        replayed = Format("replay", FormatKind.REPLAY, "Replay", "", "succeeded", (File("", 0, "text/html"),))
        first = [*([self._copy] if self._copy else []), *([replayed] if self._frame else [])]
        declared = formats_of(self._results, outputs_of)
        size = sum({one.plugin: one.output_size for one in self._results}.values())
        files = Format("files", FormatKind.FILES, "Files", "", "succeeded", (File("", size, ""),))
        rest = [one for one in declared if one != self._copy]
        return [*first, *rest, *self._drawn_alone(declared), files]

    def _drawn_alone(self, declared: list[Format]) -> list[Format]:
        """Formats of plugins that declare none to look at, and draw one themselves."""
        known = {one.plugin for one in declared}
        return [
            Format(
                one.plugin,
                FormatKind.DRAWN,
                title_of(one.plugin),
                one.plugin,
                one.status,
                (File("", one.output_size, ""),),
            )
            for one in self._results
            if one.status == "succeeded" and one.plugin not in known and has_template(one.plugin, "embed")
        ]

    def _choose(self, wanted: str) -> Format | None:
        named = next((one for one in self.formats if one.key == wanted), None)
        is_refused = self.verdict.state is State.REFUSED
        if named is not None or self.verdict.state is State.NOTHING or (is_refused and self.verdict.retrying):
            return named
        copies = (one for one in self.formats if one.files and not one.is_aside and one.kind is not FormatKind.FILES)
        return next(copies, self.formats[-1] if self.verdict.is_final and not is_refused else None)

    def _stage(self, chosen: Format) -> Stage:
        html = self._drawn_by_its_plugin(chosen)
        if html or chosen.kind is FormatKind.DRAWN:
            return Stage(chosen, "web/stages/drawn.html", {"html": html})
        if chosen.kind is FormatKind.REPLAY and self._frame:
            values = {"address": self._frame.address, "sandbox": self._frame.sandbox}
            return Stage(chosen, "web/stages/page.html", values)
        if chosen.kind is FormatKind.FILES:
            return files_stage(self._snapshot, self._results, chosen, self._file, self.base)
        return stage_of(self._snapshot, chosen, self.base)

    def _drawn_by_its_plugin(self, chosen: Format) -> str:
        own = next((one for one in self._results if one.plugin == chosen.plugin and one.status == "succeeded"), None)
        if own is None or chosen.key != chosen.plugin:
            return ""
        return (self.is_full and self._drawn(own, "fullscreen")) or self._drawn(own, "embed")

    def _drawn(self, result: ArchiveResult, place: Place) -> str:
        return drawn(result, place, self.base, self._sandbox)


def snapshot_or_404(request: HttpRequest, snapshot_id: UUID) -> Snapshot:
    """The snapshot, if whoever asks may see it; one that was removed only for somebody who may bring it back."""
    rows = reachable_snapshots(request.user)
    snapshot = rows.select_related("crawl", "created_by").filter(pk=snapshot_id).first()
    if snapshot is None:
        raise Http404("no such snapshot")
    return snapshot


def results_of(snapshot: Snapshot) -> list[ArchiveResult]:
    """All its results; each knows its snapshot without asking."""
    results = list(snapshot.archiveresult_set.select_related("iface"))
    for result in results:
        result.snapshot = snapshot
    return results


def _beside(request: HttpRequest, snapshot: Snapshot, results: list[ArchiveResult]) -> dict[str, Any]:
    """Tags, notes, facts, links: notes are for people inside, links for who may know which pages there are."""
    tags = list(snapshot.tags.all())
    return {
        "tags": tags,
        "seen_by": SEEN_BY,
        "can_show": may_show(request.user, snapshot),
        "tags_text": ", ".join(tag.name for tag in tags),
        "notes": snapshot.note_set.select_related("author") if request.user.is_authenticated else (),
        "links": links_of(snapshot, results, viewer_scope(request.user)) if allows(request, Action.LIST) else None,
        "language": _language(results),
        "shares": shares_of(request, snapshot),
    }


def _language(results: list[ArchiveResult]) -> str:
    """Which language the article is in, where the plugin that found it says so."""
    readers = (one for one in results if any(output.role == "reader" for output in outputs_of(one.plugin)))
    said = (one.output_json.get("language") for one in readers if isinstance(one.output_json, dict))
    return next((language for language in said if isinstance(language, str) and language), "")


def _below(request: HttpRequest, snapshot: Snapshot, results: list[ArchiveResult], base: str) -> dict[str, Any]:
    """Results, and the processes: these name files and versions of this machine, which is nothing for passers-by."""
    inside = allows(request, Action.INSPECT)
    processes = list(snapshot.process_set.order_by("-pk")[:PROCESSES_SHOWN]) if inside else []
    return {
        "lines": group_results(results, processes, base),
        "timeline": timeline_of(processes),
        "programs": _programs(processes),
        "plugins": sorted({one.plugin for one in results}),
        "retriable": snapshot.archiveresult_set.filter(RETRIABLE).exists(),
    }


def _programs(processes: list[Process]) -> list[Binary]:
    """The programs that worked on it, in the versions that this machine has now."""
    paths = {str(one.cmd[0]) for one in processes if one.cmd and one.process_type == Process.TypeChoices.BINARY}
    return list(Binary.objects.here().filter(abspath__in=paths).order_by("name"))
