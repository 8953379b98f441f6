"""Owns the pages of plugins: what each saves, whether it is on and who says so, its programs, settings and outcomes."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from archivebox.accounts.permission import viewer_scope
from archivebox.accounts.roles import Action
from archivebox.config.resolve import Resolved, SettingError
from archivebox.contract import reasons
from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.discovery import Plugin
from archivebox.contract.schema import prefix
from archivebox.core.models import ArchiveResult
from archivebox.hooks import base_layers, needed_programs, plugins, resolve_settings
from archivebox.hooks.registry import path_of_program
from archivebox.machine.fleet_setting import refresh_fleet_settings
from archivebox.machine.models import Binary
from archivebox.web.auth.page_access import requires
from archivebox.web.page.crawl_form import KINDS
from archivebox.web.page.list_paging import page_within
from archivebox.web.page.setting_form import SettingForm, place, store

# --- programs ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PluginProgram:
    """A program that a plugin needs, as this machine has it. ``row``: None where nobody has looked for it yet."""

    asked: BinaryRequest
    row: Binary | None

    @property
    def path(self) -> str:
        if self.row is None:
            return path_of_program(self.asked.name)
        return self.row.abspath if self.row.is_there else ""

    @property
    def version(self) -> str:
        return self.row.version if self.row is not None and self.row.is_there else ""

    @property
    def is_missing(self) -> bool:
        return not self.path

    @property
    def why(self) -> str:
        """What is known of one that is missing."""
        if self.row is None:
            return "Not checked yet."
        if self.row.status in {Binary.StatusChoices.QUEUED, Binary.StatusChoices.STARTED}:
            return "Being checked."
        return self.row.message or (reasons.sentence(self.row.reason) if self.row.reason else "No longer installed.")

    @property
    def command(self) -> str:
        return f"archivebox install {self.asked.name}"


def rows_here() -> dict[str, Binary]:
    """What is known of every program on this machine, by name."""
    return {row.name: row for row in Binary.objects.here()}


def programs_of(plugin: Plugin, resolved: Resolved, rows: Mapping[str, Binary]) -> list[PluginProgram]:
    return [PluginProgram(asked, rows.get(asked.name)) for asked in needed_programs(plugin, resolved)]


def lacks(programs: Iterable[PluginProgram]) -> bool:
    """Whether one is missing without which it does not work."""
    return any(program.is_missing and not program.asked.optional for program in programs)


# --- the pages -----------------------------------------------------------------------------------------------------

OUTCOMES = 100


@dataclass(frozen=True, slots=True)
class Shown:
    """A plugin as pages show it. ``why_off``: a sentence; empty for one that is on. ``said_by``: who says so."""

    plugin: Plugin
    why_off: str
    said_by: str
    programs: list[PluginProgram]

    @property
    def is_on(self) -> bool:
        return not self.why_off

    @property
    def lacks(self) -> bool:
        return lacks(self.programs)

    @property
    def saves(self) -> list[str]:
        """What it saves: by the names that it gives its files, else by their types."""
        labels = (output.label or output.role for output in self.plugin.outputs)
        return list({label.casefold(): label for label in labels}.values()) or list(self.plugin.output_mimetypes)

    def has(self, query: str) -> bool:
        """Whether it has all of these words."""
        plugin = self.plugin
        text = f"{plugin.name} {plugin.title} {plugin.description}".casefold()
        return all(word in text for word in query.casefold().split())


SHOWN: dict[str, Callable[[Shown], bool]] = {
    "all": lambda _: True,
    "on": lambda one: one.is_on,
    "off": lambda one: not one.is_on,
    "lacking": lambda one: one.is_on and one.lacks,
}
"""What ``?show=`` may name."""


@requires(Action.INSPECT)
def index(request: HttpRequest) -> HttpResponse:
    """``?show=``: all, on, off, or those that lack a program; ``?q=``: those that have these words."""
    resolved, rows = resolve_settings(base_layers()), rows_here()
    every = [_shown(plugin, resolved, rows) for plugin in plugins().values()]
    wanted = request.GET.get("show", "all")
    chosen = wanted if wanted in SHOWN else "all"
    query = request.GET.get("q", "").strip()
    lines = [one for one in every if SHOWN[chosen](one) and one.has(query)]
    context = {
        "q": query,
        "groups": [group for group in _groups(lines) if group.lines],
        "chosen": chosen,
        "counts": {name: sum(map(matches, every)) for name, matches in SHOWN.items()},
    }
    return render(request, "web/plugins/index.html", context)


@dataclass(frozen=True, slots=True)
class PluginGroup:
    """Plugins that are for the same. ``is_aside``: few look for them."""

    title: str
    icon: str
    lines: list[Shown]
    is_aside: bool = False


def _groups(lines: list[Shown]) -> Iterator[PluginGroup]:
    """By what is kept of a page; then those that help, and those that install."""
    for kind in KINDS:
        yield PluginGroup(kind.label, kind.icon, [one for one in lines if one.plugin.keeps == kind.kind])
    others = [one for one in lines if not one.plugin.keeps]
    yield PluginGroup("Helpers", "wrench", [one for one in others if not one.plugin.only_installs], is_aside=True)
    yield PluginGroup(
        "Package installers", "package", [one for one in others if one.plugin.only_installs], is_aside=True
    )


def _shown(plugin: Plugin, resolved: Resolved, rows: Mapping[str, Binary]) -> Shown:
    try:
        code = resolved.disabled_reason(plugin)
        why = reasons.sentence(code) if code else ""
        programs = programs_of(plugin, resolved, rows)
    except SettingError as error:
        why, programs = f"{error}.", []
    said = resolved.explain(plugin.enabled_setting)
    return Shown(plugin, why, place(said[-1][0]) if said else "default", programs)


@requires(Action.INSPECT, to_change=Action.ADMINISTER)
def one(request: HttpRequest, name: str) -> HttpResponse:
    """One plugin. POST writes its settings."""
    plugin = plugins().get(name)
    if plugin is None:
        raise Http404("no such plugin")
    refresh_fleet_settings()
    resolved = resolve_settings(base_layers())
    data = request.POST if request.method == "POST" else None
    form = SettingForm(plugin.schema.settings.values(), resolved, data, prefix(plugin.name))
    if form.is_valid() and (names := store(form, request.user)) is not None:
        messages.success(request, f"Changed: {', '.join(names)}." if names else "No changes.")
        return redirect("plugin", name)
    context = {"shown": _shown(plugin, resolved, rows_here()), "form": form, **_outcomes(request, name)}
    return render(request, "web/plugins/one.html", context, status=422 if form.errors else 200)


def _outcomes(request: HttpRequest, name: str) -> dict[str, Any]:
    """Its latest results, and how many of these came to what."""
    rows = ArchiveResult.objects.select_related("snapshot").defer("output_files", "output_json")
    chosen = viewer_scope(request.user).condition("snapshot__") & Q(plugin=name, snapshot__retired_at__isnull=True)
    page = page_within(rows, chosen, request, OUTCOMES)
    return {"page": page, "came_to": Counter(result.status for result in page.rows).most_common()}
