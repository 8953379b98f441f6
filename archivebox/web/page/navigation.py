"""Owns what stands around every page: where one can go from it, in the look of whoever reads it."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from archivebox.accounts.roles import Action
from archivebox.base_models.visibility import Visibility
from archivebox.web import settings
from archivebox.web.auth.login_steps import must_set_up
from archivebox.web.auth.page_access import allows, may_see
from archivebox.web.page.display_preferences import CHOICES, display_preferences_of


@dataclass(frozen=True, slots=True)
class Entry:
    """One place of the rail. ``area``: the first name in the addresses of its pages; ``needs``: what they ask for."""

    url_name: str
    label: str
    icon: str
    area: str
    needs: Action = Action.LIST


ENTRIES = (
    Entry("snapshots", "Library", "library", "snapshots"),
    Entry("crawls", "Crawls", "waypoints", "crawls"),
    Entry("failures", "Failures", "triangle-alert", "failures"),
    Entry("jobs", "Jobs", "list-checks", "jobs"),
    Entry("tags", "Tags", "tags", "tags"),
    Entry("schedules", "Schedules", "calendar-clock", "schedules"),
    Entry("plugins", "Plugins", "puzzle", "plugins", Action.INSPECT),
    Entry("personas", "Personas", "user", "personas", Action.INSPECT),
    Entry("machines", "Machines", "monitor", "machines", Action.INSPECT),
    Entry("processes", "Processes", "activity", "processes", Action.INSPECT),
    Entry("settings", "Settings", "sliders-horizontal", "settings", Action.INSPECT),
)
"""Those whose page is there are shown; whoever adds a page under one of these names needs nothing else."""


@dataclass(frozen=True, slots=True)
class NavigationEntry:
    """An entry as one page shows it."""

    entry: Entry
    address: str
    is_current: bool


def shell(request: HttpRequest) -> dict[str, object]:
    """Context processor: ``rail``, ``look`` and what of it can be chosen, and which parts of the layout are shown."""
    if not hasattr(request, "user"):  # an error before anybody asked who is there
        return {}
    return {
        "rail": list(places(request)),
        "look": display_preferences_of(request),
        "look_choices": {name: CHOICES[name] for name in ("theme", "density")},
        "index_is_open": may_see(request, "PUBLIC_INDEX"),
        "usual_visibility": settings.VISIBILITY if request.user.is_authenticated else Visibility.PUBLIC.value,
        "add_is_open": may_see(request, "PUBLIC_ADD_VIEW"),
        "must_set_up": must_set_up(request),
    }


def places(request: HttpRequest) -> Iterator[NavigationEntry]:
    """The entries whose pages are there, and which of them somebody may see."""
    for entry in ENTRIES:
        address = _address(entry.url_name)
        is_inside = request.user.is_authenticated and allows(request, entry.needs)
        if address and (is_inside or (entry is ENTRIES[0] and may_see(request, "PUBLIC_INDEX"))):
            is_current = request.path == address or request.path_info.startswith(f"/{entry.area}/")
            yield NavigationEntry(entry, address, is_current)


def _address(url_name: str) -> str:
    try:
        return reverse(url_name)
    except NoReverseMatch:
        return ""
