"""Owns the pages of what is set up for all crawls: the program's own settings, group by group, and personas.

A persona is who a crawl is to the sites that it visits.
"""

from collections.abc import Iterator
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from archivebox.accounts.permission import visible_crawls, visible_schedules
from archivebox.accounts.roles import Action
from archivebox.config.core import CORE_SETTINGS, GROUPS
from archivebox.config.personas import personas_in
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.discovery import Plugin
from archivebox.contract.schema import SettingSpec, prefix
from archivebox.hooks import base_layers, plugins, resolve_settings
from archivebox.hooks.stored_settings import ALL_MACHINES
from archivebox.machine.fleet_setting import refresh_fleet_settings
from archivebox.machine.machine_id import is_fleet
from archivebox.web.auth.page_access import requires
from archivebox.web.page.setting_form import SettingForm, label_of, store


@requires(Action.INSPECT, to_change=Action.ADMINISTER)
def index(request: HttpRequest) -> HttpResponse:
    """``?group=``: which; or ``?q=``: those that have these words. POST writes them."""
    asked = request.GET.get("group", "")
    group, query = asked if asked in GROUPS else next(iter(GROUPS)), request.GET.get("q", "").strip()
    refresh_fleet_settings()
    resolved = resolve_settings(base_layers())
    specs = [spec for spec in CORE_SETTINGS.values() if _has(query, spec, "")] if query else GROUPS[group]
    form = SettingForm(specs, resolved, request.POST if request.method == "POST" else None)
    if form.is_valid() and (names := store(form, request.user)) is not None:
        messages.success(request, f"Changed: {', '.join(names)}." if names else "No changes.")
        return redirect(f"{reverse('settings')}?{urlencode({'q': query} if query else {'group': group})}")
    others = list(_of_plugins(query)) if query else []
    context = {
        "form": form,
        "group": group,
        "groups": list(GROUPS),
        "place": ALL_MACHINES if is_fleet() else DATA_FOLDER.conf,
        "problems": [str(error) for error in resolved.errors],
        "unknown": resolved.unknown,
        "q": query,
        "others": others,
        "found": len(form.settings) + len(others),
    }
    return render(request, "web/settings.html", context, status=422 if form.errors else 200)


def _of_plugins(query: str) -> Iterator[tuple[Plugin, SettingSpec, str]]:
    """Settings of plugins that have all words of ``query``, with what people call each."""
    for plugin in plugins().values():
        for spec in plugin.schema.settings.values():
            if _has(query, spec, plugin.title):
                yield plugin, spec, label_of(spec, prefix(plugin.name))


def _has(query: str, spec: SettingSpec, title: str) -> bool:
    text = f"{spec.name} {label_of(spec)} {spec.description} {title}".casefold()
    return all(word in text for word in query.casefold().split())


# --- personas ------------------------------------------------------------------------------------------------------

CRAWLS_SHOWN = 20


@requires(Action.INSPECT)
def personas(request: HttpRequest) -> HttpResponse:
    """All of this collection."""
    return render(request, "web/personas/index.html", {"personas": personas_in(DATA_FOLDER.personas)})


@requires(Action.INSPECT)
def persona_page(request: HttpRequest, name: str) -> HttpResponse:
    """One: what it has, and the latest crawls that ran as it."""
    persona = next((one for one in personas_in(DATA_FOLDER.personas) if one.name == name), None)
    if persona is None:
        raise Http404("no such persona")
    context = {
        "persona": persona,
        "crawls": visible_crawls(request.user).filter(persona=name).order_by("-pk")[:CRAWLS_SHOWN],
        "schedules": [one for one in visible_schedules(request.user) if one.template.get("persona") == name],
    }
    return render(request, "web/personas/one.html", context)
