"""Owns the page of one snapshot: what was kept, as it is best looked at, what was not, and why; its versions."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from archivebox.accounts.permission import may_show, reachable_snapshots, viewer_scope
from archivebox.accounts.roles import Action
from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.contract.formats import File, Format, FormatKind, best_of, formats_of
from archivebox.contract.reasons import OUT_OF_TIME, split
from archivebox.contract.verdicts import State, judge
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.crawl_control.retry import RETRIABLE
from archivebox.core.outputs.opening import PAGES, REPLAY, opening_of
from archivebox.core.snapshot import Snapshot
from archivebox.core.unchanged_check import UnchangedCheck
from archivebox.core.versions.text_differences import compare
from archivebox.core.versions.url_versions import latest_versions
from archivebox.hooks import base_layers, outputs_of, resolve_settings
from archivebox.lib.urls import BadUrl, parse_url
from archivebox.machine.binary import Binary
from archivebox.machine.process import Process
from archivebox.replay.addresses import sandbox
from archivebox.replay.capability import Purpose
from archivebox.web.auth.page_access import allows, public_if
from archivebox.web.middleware import replay
from archivebox.web.page.cards import cards
from archivebox.web.page.visibility_form import SEEN_BY
from archivebox.web.snapshot.file_excerpts import NOTHING, FileExcerpt, address_of, read_part
from archivebox.web.snapshot.format_views import Stage, files_stage, stage_of
from archivebox.web.snapshot.plugin_templates import Place, drawn, has_template, title_of
from archivebox.web.snapshot.replay_frame import frame_of, index_of, quality_of, scripted_frame
from archivebox.web.snapshot.result_list import group_results, timeline_of
from archivebox.web.snapshot.version_strip import linked_from, strip_of
from archivebox.web.views.shares import shares_of
from archivebox.web.views.shell import opens_with_scripts

PROCESSES_SHOWN = 400
KEYS = 9
"""Formats that a digit opens."""


@public_if("PUBLIC_SNAPSHOTS", to_change=Action.READ)
def one(request: HttpRequest, snapshot_id: UUID) -> HttpResponse:
    """One snapshot. POST runs the scripts of the archived page, in the answer to that POST alone: no link can do it."""
    snapshot = snapshot_or_404(request, snapshot_id)
    if snapshot.retired_at:
        look = UnchangedCheck.objects.filter(instead=snapshot.pk).first()
        days = resolve_settings(base_layers()).get_int("REMOVED_RETENTION_DAYS")
        return render(request, "web/removed.html", {"snapshot": snapshot, "look": look, "days": days}, status=410)
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
    return request.method == "POST" and replay().runs_scripts(request.get_host())


class Showing:
    """The formats of a snapshot, and the one that is chosen."""

    def __init__(self, request: HttpRequest, snapshot: Snapshot, results: list[ArchiveResult], base: str) -> None:
        self.base = base
        self.is_full = "full" in request.GET
        self.scripts = _wants_scripts(request)
        self.verdict = judge(snapshot.status, snapshot.http_status, results, outputs_of)
        self._snapshot, self._results = snapshot, results
        self._file = request.GET.get("file", "")
        self._runs_scripts = replay().runs_scripts(request.get_host())
        self._sandbox = sandbox(own=replay().isolates(request.get_host()), scripts=self.scripts)
        self._frame = frame_of(request, snapshot) if snapshot.mime_type in PAGES else None
        self._quality = quality_of(snapshot, results)
        scripts = self._frame is not None and self._frame.may_run and opens_with_scripts(request)
        self._opening = opening_of(snapshot, results, has_replay=self._frame is not None, scripts=scripts)
        self.formats = self._formats()
        self.chosen = self._choose(request.GET.get("view", ""))
        is_asked = self.scripts or (self._opening.runs_scripts and not request.GET.get("view"))
        if is_asked and self.chosen and self.chosen.kind is FormatKind.REPLAY:
            self._frame = scripted_frame(request, snapshot)

    def context(self) -> dict[str, Any]:
        """What the template needs of it."""
        icons = {one.plugin: self._drawn(one, "icon") for one in self._results if has_template(one.plugin, "icon")}
        main = [one for one in self.formats if not one.is_aside]
        return {
            "base": self.base,
            "verdict": self.verdict,
            "is_out_of_time": any(split(one.reason)[0] in OUT_OF_TIME for one in self._results),
            "main": [(number if number <= KEYS else 0, one) for number, one in enumerate(main, 1)],
            "aside": [one for one in self.formats if one.is_aside],
            "icons": icons,
            "chosen": self.chosen,
            "stage": self._stage(self.chosen) if self.chosen else None,
            "sandbox": self._sandbox,
            "scripts": self.scripts,
            "frame": self._frame,
            "may_run": self._may_run,
            "may_script": self._frame is not None and self._frame.may_run,
            "is_full": self.is_full,
            "why": self._opening.why,
            "copy": None if self.scripts else self._opening.copy,
            "quality": self._quality if self._frame else None,
            "missing": len(index_of(self._snapshot).failures) if self._frame else 0,
        }

    @property
    def _may_run(self) -> bool:
        """Whether the chosen format is a page whose scripts may be switched on: only on an origin of its own."""
        is_page = self.chosen is not None and self.chosen.kind in {FormatKind.REPLAY, FormatKind.PAGE}
        return is_page and self._runs_scripts

    def _formats(self) -> list[Format]:
        declared = formats_of(self._results, outputs_of)
        first = self._opening.format
        size = sum({one.plugin: one.output_size for one in self._results}.values())
        files = Format("files", FormatKind.FILES, "Files", "", "succeeded", (File("", size, ""),))
        rest = [one for one in ([REPLAY] if self._frame else []) + declared if one != first]
        return [*([first] if first else []), *rest, *self._drawn_alone(declared), files]

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


# --- links inside the archive --------------------------------------------------------------------------------------

MOST = 500
"""Links of a page that are looked for."""
SHOWN = 50


@dataclass(frozen=True, slots=True)
class Outlink:
    """A page that is linked to; ``snapshot_id`` is its latest version, None where it is not in the archive."""

    url: str
    title: str
    snapshot_id: UUID | None


@dataclass(frozen=True, slots=True)
class Links:
    """``kept`` are in the archive, ``others`` are not: ``count`` is how many of those there are."""

    kept: list[Outlink]
    others: list[Outlink]
    count: int
    inward: list[Snapshot]


def links_of(snapshot: Snapshot, results: Iterable[ArchiveResult], scope: ViewerScope) -> Links:
    """Those that plugins with the role ``links`` found, and the pages whose crawl came here by a link."""
    titles = _found(snapshot, results)
    known = latest_versions(titles, scope)
    links = [Outlink(url, title, known.get(url)) for url, title in titles.items()]
    others = [link for link in links if link.snapshot_id is None]
    pages = seen_by(scope, Snapshot.objects.kept())
    inward = pages.filter(scope.condition("outlinks__"), outlinks__url=snapshot.url).distinct().order_by("-pk")[:SHOWN]
    return Links([link for link in links if link.snapshot_id][:SHOWN], others[:SHOWN], len(others), list(inward))


def _found(snapshot: Snapshot, results: Iterable[ArchiveResult]) -> dict[str, str]:
    """URL → title, each once, the page itself left out."""
    titles: dict[str, str] = {}
    for result in results:
        for output in outputs_of(result.plugin):
            for name in result.output_files if output.role == "links" else ():
                if output.matches(name):
                    _read_titles(titles, snapshot, result.plugin, name)
    titles.pop(snapshot.url, None)
    return titles


def _read_titles(titles: dict[str, str], snapshot: Snapshot, plugin: str, name: str) -> None:
    for line in read_part(snapshot, plugin, name).lines():
        if len(titles) >= MOST:
            return
        try:
            url = parse_url(str(line.get("url") or "")).without_fragment
        except BadUrl:
            continue
        titles[url] = titles.get(url) or str(line.get("title") or "")[:200]


# --- two versions beside each other --------------------------------------------------------------------------------


@public_if("PUBLIC_SNAPSHOTS")
def changes(request: HttpRequest, snapshot_id: UUID, other_id: UUID) -> HttpResponse:
    """The older beside the newer of two versions; ``?as=picture`` lays their pictures over each other."""
    versions = [snapshot_or_404(request, key) for key in (snapshot_id, other_id)]
    old, new = sorted(versions, key=lambda one: one.pk)
    if old.url != new.url or old.retired_at or new.retired_at:
        raise Http404("these are not two versions of one page")
    if (old.pk, new.pk) != (snapshot_id, other_id):
        return redirect("changes", old.pk, new.pk)
    context = {
        "old": old,
        "new": new,
        "card": cards(request, [new])[0],
        "strip": strip_of(new, viewer_scope(request.user)),
        "as_picture": request.GET.get("as") == "picture",
    }
    context |= _pictures(request, old, new) if context["as_picture"] else _texts(old, new)
    return render(request, "web/changes.html", context)


def _texts(old: Snapshot, new: Snapshot) -> dict[str, object]:
    before, after = (_text_of(one) for one in (old, new))
    if not (before.size and after.size):
        return {"missing": [one for one, part in ((old, before), (new, after)) if not part.size]}
    return {"difference": compare(before.text, after.text), "is_cut": before.is_cut or after.is_cut}


def _text_of(snapshot: Snapshot) -> FileExcerpt:
    best = best_of(results_of(snapshot), outputs_of, "text")
    return read_part(snapshot, best.plugin, best.files[0].name) if best else NOTHING


def _pictures(request: HttpRequest, old: Snapshot, new: Snapshot) -> dict[str, object]:
    found = [_picture_of(results_of(one)) for one in (old, new)]
    shown = [
        (snapshot, card.base() + address_of(picture.plugin, picture.files[0].name))
        for snapshot, picture, card in zip((old, new), found, cards(request, [old, new]), strict=True)
        if picture
    ]
    return {"missing": [one for one, picture in zip((old, new), found, strict=True) if not picture], "pictures": shown}


def _picture_of(results: list[ArchiveResult]) -> Format | None:
    return next((one for one in formats_of(results, outputs_of) if one.kind is FormatKind.PICTURE and one.files), None)
