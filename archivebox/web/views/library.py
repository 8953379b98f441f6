"""Owns the Library: all pages, or those that a query means, as cards, list or table."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse

from archivebox.accounts.permission import viewer_scope
from archivebox.accounts.roles import Action
from archivebox.base_models.paging import PageOfRows, PlaceGoneError
from archivebox.base_models.visibility import seen_by
from archivebox.core.progress.crawl_progress import COUNTED
from archivebox.core.snapshot import Snapshot
from archivebox.export.formats import FORMATS
from archivebox.search.facets import Facet, facets
from archivebox.search.finding import ORDERS, page_found, sortable
from archivebox.search.models import SavedSearch
from archivebox.search.query import QueryError, Selection
from archivebox.web.auth.page_access import allows, public_if
from archivebox.web.library.library_search import Reading, found, put_snippets, reading_of, remember
from archivebox.web.library.query_terms import has, toggled
from archivebox.web.page.cards import cards
from archivebox.web.page.crawl_form import capturing_plugins
from archivebox.web.page.display_preferences import CHOICES, COLUMNS, DisplayPreferences, display_preferences_of
from archivebox.web.page.list_paging import at_most, place_of
from archivebox.web.page.visibility_form import SEEN_BY
from archivebox.web.views.add import form_of, presets_of

SIZE = 60
"""Pages that are shown at a time."""


class Example(NamedTuple):
    """Something to try in an empty library. ``query``: what the form is filled with; empty: an import."""

    icon: str
    title: str
    text: str
    query: str = ""

    @property
    def address(self) -> str:
        return f"{reverse('add')}?{self.query}" if self.query else reverse("imports")


EXAMPLES = (
    Example("globe", "A page", "An article of an encyclopedia", "url=https://en.wikipedia.org/wiki/Web_archiving"),
    Example(
        "waypoints", "A page and its links", "To a depth that you choose", "url=https://www.iana.org/help/&depth=1"
    ),
    Example("bookmark", "Your bookmarks", "A file exported by your browser"),
)
_CHOICES = {"views": CHOICES["view"], "opens": CHOICES["opens"], "columns": COLUMNS, "sorts": ORDERS}
NOTHING: PageOfRows[Snapshot] = PageOfRows([], None, None)
FACETS_KEPT = 30
"""Seconds that the counts of facets are kept: they take as long as all the rest of the page."""


@public_if("PUBLIC_INDEX")
def index(request: HttpRequest) -> HttpResponse:
    """``?q=`` is a query (docs/query-language.md), shown by ``view`` and ``sort``; htmx gets the list alone."""
    query, look = (
        request.GET.get("q", "").strip(),
        display_preferences_of(request).chosen({"view": request.GET.get("view", "")}),
    )
    reading, selection, page = _read(request, query)
    shown = cards(request, page.rows)
    if selection is not None and selection.words:
        put_snippets(shown, selection)
    context = {
        "page": page, "cards": shown, "q": query, "look": look, "busy": any(card.is_busy for card in shown),
        "list_template": f"web/library/{look.view}.html", "sort": _sort(request),
        "columns_shown": _columns(request, look),
        "is_newest": not query and page.newer is None and _sort(request) == "newest",
        "reading": reading, "can_choose": allows(request, Action.EDIT), "formats": FORMATS, "seen_by": SEEN_BY,
    }  # fmt: skip
    is_more = "HX-Request" in request.headers
    if not is_more:
        if not query and not page.is_all:
            context["count"] = at_most(_size(request), COUNTED)
        remember(request, query, is_found=bool(shown))
        context |= {
            "facets": _facets(request, selection),
            "plugins": capturing_plugins(),
            **_saved(request, query),
            **_CHOICES,
        }
        if not (shown or query) and request.user.is_authenticated and allows(request, Action.ADD):
            context |= {"add_form": form_of(request), "presets": presets_of(request), "examples": EXAMPLES}
    answer = render(request, "web/library/more.html" if is_more else "web/library/index.html", context)
    answer.status_code = 400 if reading.problem else 200
    if look != display_preferences_of(request):
        look.keep(answer)
    return answer


def _size(request: HttpRequest) -> int:
    """Pages that are there for who asks, as far as they are counted; more than COUNTED: there are more than that."""
    scope = viewer_scope(request.user)
    pages = seen_by(scope, Snapshot.objects.in_library()).order_by("-pk")[: COUNTED + 1]
    return int(cache.get_or_set(f"pages-{'all' if scope.is_whole else scope.account}", pages.count, FACETS_KEPT) or 0)


def _columns(request: HttpRequest, look: DisplayPreferences) -> tuple[str, ...]:
    """Those of the table that were chosen, and by what it is sorted."""
    by = {"worst": "quality", "host": "host", "size": "size"}.get(_sort(request))
    return look.columns if by is None or by in look.columns else (*look.columns, by)


def _read(request: HttpRequest, query: str) -> tuple[Reading, Selection | None, PageOfRows[Snapshot]]:
    """How the query is understood, and the pages that it means; none where something is wrong with it."""
    reading = reading_of(query)
    if reading.problem:
        return reading, None, NOTHING
    try:
        selection = found(request, query)
        return reading, selection, _page(request, selection)
    except QueryError as error:  # only the search engine knows that too many texts have a word
        return Reading.of_error(error), None, NOTHING


def _page(request: HttpRequest, selection: Selection) -> PageOfRows[Snapshot]:
    sort = _sort(request)
    try:
        return page_found(sortable(selection, sort), place_of(request), SIZE, ORDERS[sort])
    except PlaceGoneError as gone:
        raise Http404("no such page") from gone


def _saved(request: HttpRequest, query: str) -> dict[str, object]:
    """The searches that somebody keeps, and whether this is one of them."""
    if not request.user.is_authenticated:
        return {"saved": [], "q_is_saved": True}
    saved = list(SavedSearch.objects.filter(owner=request.user))
    return {"saved": saved, "q_is_saved": any(search.query == query for search in saved)}


def _sort(request: HttpRequest) -> str:
    wanted = request.GET.get("sort", "")
    return wanted if wanted in ORDERS else "newest"


@dataclass(frozen=True, slots=True)
class FacetLink:
    """A choice of a facet as a link that takes it, or gives it up."""

    label: str
    count: str
    address: str
    is_chosen: bool


def _facets(request: HttpRequest, selection: Selection | None) -> list[tuple[str, list[FacetLink]]]:
    """Of what was found; of the whole library, once for each who sees something else, and for a while."""
    if selection is None:
        return []
    if not request.GET.get("q", "").strip():
        scope = viewer_scope(request.user)
        name = f"facets-{'all' if scope.is_whole else scope.account}"
        known: list[Facet] = cache.get(name) or facets(selection)
        if known:  # else the first page of a library would be hidden for a while
            cache.add(name, known, FACETS_KEPT)
    else:
        known = facets(selection)
    return [(facet.title, list(_links(facet, request.GET))) for facet in known]


def _links(facet: Facet, asked: QueryDict) -> Iterator[FacetLink]:
    query = asked.get("q", "").strip()
    for choice in facet.choices:
        address = _address(asked, toggled(query, choice.query, facet.keys))
        yield FacetLink(choice.label, at_most(choice.count, choice.counted), address, has(query, choice.query))


def _address(asked: QueryDict, query: str) -> str:
    """The same list of another query, from its beginning."""
    kept = {name: asked.get(name, "") for name in ("view", "sort")}
    return f"?{urlencode({name: value for name, value in {'q': query, **kept}.items() if value})}"
