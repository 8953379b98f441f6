"""Owns what stands around every page: where one can go from it, and the look that somebody has chosen.

A cookie remembers the look. The palette finds places and pages by some letters of their names.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_POST

from archivebox.accounts.permission import viewer_scope
from archivebox.accounts.roles import Action
from archivebox.base_models.paging import PageCursor
from archivebox.base_models.visibility import ViewerScope, Visibility
from archivebox.core.snapshot import Snapshot
from archivebox.search.backend import search_turn
from archivebox.search.finding import page_found
from archivebox.search.query import QueryError, chosen
from archivebox.web import settings
from archivebox.web.auth.login_steps import must_set_up
from archivebox.web.auth.page_access import allows, may_see, public_if
from archivebox.web.page.redirects import back_to

# --- the look ------------------------------------------------------------------------------------------------------

COOKIE = f"{settings.COOKIE_PREFIX}archivebox_look"
KEPT = 365 * 24 * 3600
"""Seconds that a browser remembers it."""
CHOICES = {
    "theme": ("auto", "light", "dark"),
    "density": ("comfortable", "compact"),
    "view": ("cards", "list", "table"),
    "opens": ("page", "copy", "original"),
    "scripts": ("off", "on"),
}
"""What can be chosen of each; the first is what nobody has chosen."""
COLUMNS = ("when", "host", "status", "kept", "tags", "versions", "size", "quality", "type", "crawl")
"""Of the table, beside the title."""


@dataclass(frozen=True, slots=True)
class DisplayPreferences:
    """What one person has chosen, or not. ``opens``: what a click in a list leads to. ``scripts``: whether pages that
    need their scripts open with them, where they may run.
    """

    theme: str = CHOICES["theme"][0]
    density: str = CHOICES["density"][0]
    view: str = CHOICES["view"][0]
    opens: str = CHOICES["opens"][0]
    scripts: str = CHOICES["scripts"][0]
    columns: tuple[str, ...] = ("when", "host", "status", "kept", "tags", "size")

    def chosen(self, wanted: Mapping[str, str]) -> Self:
        """The same with what of ``wanted`` can be chosen; the rest is nothing to us. Columns: names and commas."""
        valid: dict[str, Any] = {name: wanted[name] for name in CHOICES if wanted.get(name) in CHOICES[name]}
        if "columns" in wanted:
            names = wanted["columns"].split(",")
            valid["columns"] = tuple(name for name in COLUMNS if name in names)
        return replace(self, **valid)

    def keep(self, answer: HttpResponse) -> None:
        """Have the browser remember it."""
        said = {name: getattr(self, name) for name in CHOICES} | {"columns": ",".join(self.columns)}
        answer.set_cookie(
            COOKIE, urlencode(said), max_age=KEPT, secure=settings.BEHIND_HTTPS, httponly=True, samesite="Lax"
        )


def display_preferences_of(request: HttpRequest) -> DisplayPreferences:
    return DisplayPreferences().chosen(dict(parse_qsl(request.COOKIES.get(COOKIE, ""), keep_blank_values=True)))


def opens_with_scripts(request: HttpRequest) -> bool:
    """Whether whoever asks wants pages that need their scripts to open with them."""
    return display_preferences_of(request).scripts == "on"


@require_POST
@public_if("PUBLIC_INDEX", to_change=Action.LIST)
def choose_look(request: HttpRequest) -> HttpResponse:
    """Keep the choices in the form, and go back to the page that showed it."""
    answer = redirect(back_to(request, "snapshots"))
    wanted = request.POST.dict()
    if "columns" in wanted:  # one for each column that is wanted, and an empty one before them
        wanted["columns"] = ",".join(request.POST.getlist("columns"))
    display_preferences_of(request).chosen(wanted).keep(answer)
    return answer


# --- where one can go ----------------------------------------------------------------------------------------------


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
        "public_is_off": not settings.PUBLIC_SNAPSHOTS,
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


# --- the palette ---------------------------------------------------------------------------------------------------

ADD = "add pages"
PALETTE_PAGES = 8
"""Archived pages that are offered."""


def palette(request: HttpRequest) -> HttpResponse:
    """``?q=``: places whose names have these letters, and the newest pages that the query means, texts left out."""
    query = request.GET.get("q", "").strip()
    named = [place for place in places(request) if query.lower() in place.entry.label.lower()]
    adds = query.lower() in ADD and allows(request, Action.ADD)
    context = {"places": named, "adds": adds, "pages": _pages_found(query, viewer_scope(request.user)), "q": query}
    return render(request, "web/palette.html", context)


def _pages_found(query: str, scope: ViewerScope) -> list[Snapshot]:
    try:
        with search_turn(query):
            found = chosen(query, scope, removed=False, texts=False)
            return page_found(found, PageCursor(), PALETTE_PAGES).rows
    except QueryError:  # it is still being typed
        return []
