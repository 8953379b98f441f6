"""Owns the Library: all pages, or those that a query means, as cards, list or table, and searches kept under a name."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple, Self
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from archivebox.accounts.permission import viewer_scope
from archivebox.accounts.roles import Action
from archivebox.base_models.paging import PageOfRows, PlaceGoneError
from archivebox.base_models.visibility import seen_by
from archivebox.core.progress.crawl_progress import COUNTED
from archivebox.core.snapshot import Snapshot
from archivebox.export.formats import FORMATS
from archivebox.search.backend import SearchUnavailableError, search_turn
from archivebox.search.facets import Facet, facets, frequent_tags, quoted
from archivebox.search.finding import ORDERS, page_found, snippets, sortable
from archivebox.search.models import SavedSearch, rename_search, save_search
from archivebox.search.query import QueryError, Selection, Suggestion, chosen, complete, explain
from archivebox.search.query.parser import MOST_CHARACTERS
from archivebox.web.auth.page_access import allows, may_see, public_if, requires
from archivebox.web.page.cards import Card, cards
from archivebox.web.page.crawl_form import capturing_plugins
from archivebox.web.page.list_paging import at_most, place_of
from archivebox.web.page.visibility_form import SEEN_BY
from archivebox.web.views.add import form_of, presets_of
from archivebox.web.views.shell import CHOICES, COLUMNS, DisplayPreferences, display_preferences_of

# --- searching, in the name of whoever asks ------------------------------------------------------------------------

QUERIES_SHOWN = ("has:pdf", "is:failed", "http:404", "after:30d", "type:video")
"""What an empty search box offers to try."""
MOST_RECENT = 6
MOST_TAGS = 6
_RECENT = "searches"
"""Where a session keeps what was searched for."""


def found(request: HttpRequest, query: str) -> Selection:
    """The pages that a query means. QueryError.

    Texts are not searched for whoever may see the list alone, and could guess at them; what was removed is theirs
    who may bring it back.
    """
    scope, removed = viewer_scope(request.user), allows(request, Action.EDIT)
    try:
        return chosen(query, scope, removed=removed, texts=may_see(request, "PUBLIC_SNAPSHOTS"))
    except SearchUnavailableError as problem:
        messages.warning(request, f"Only titles, URLs and tags were searched. {problem}")
        return chosen(query, scope, removed=removed, texts=False)


@dataclass(frozen=True)
class Reading:
    """How a query is understood: a phrase, or what is wrong with it and at which character."""

    phrase: str = ""
    problem: str = ""
    position: int = 0

    @classmethod
    def of_error(cls, error: QueryError) -> Self:
        return cls(problem=error.sentence, position=error.position)


def reading_of(query: str) -> Reading:
    try:
        return Reading(phrase=explain(query)) if query else Reading()
    except QueryError as error:
        return Reading.of_error(error)


def put_snippets(shown: Sequence[Card], selection: Selection) -> None:
    """Give each card what its page says of the words."""
    found = snippets(selection, [card.snapshot for card in shown])
    for card in shown:
        card.match = found.get(card.snapshot.pk)


def remember(request: HttpRequest, query: str, *, is_found: bool) -> None:
    """Keep a query that found something among those last searched for, until its person logs out."""
    if request.user.is_authenticated and is_found and query:
        former = recent(request)
        if former[:1] != [query]:
            request.session[_RECENT] = [query, *(one for one in former if one != query)][:MOST_RECENT]


def recent(request: HttpRequest) -> list[str]:
    """What was searched for last, the latest first."""
    if not request.user.is_authenticated:
        return []
    kept: list[str] = request.session.get(_RECENT, [])
    return kept


def initial_suggestions(request: HttpRequest) -> list[Suggestion]:
    """What an empty box offers: former searches, frequent tags, examples."""
    known = recent(request)
    former = [Suggestion(0, 0, query, "searched before") for query in known]
    tags = [
        Suggestion(0, 0, f"#{quoted(name)}", "tag") for name in frequent_tags(viewer_scope(request.user), MOST_TAGS)
    ]
    examples = [Suggestion(0, 0, query, explain(query)) for query in QUERIES_SHOWN if query not in known]
    return [*former, *tags, *examples]


# --- terms of a query ----------------------------------------------------------------------------------------------

_WORD = re.compile(r'(?:[^\s"]*"[^"]*"?)+|\S+')
_QUOTED = re.compile(r'"[^"]*"?')


def terms(text: str) -> list[str]:
    """``#"two words" not (a or b)`` → two: a quoted part keeps its spaces, brackets and ``not`` what they belong to."""
    found: list[str] = []
    begun: list[str] = []
    for word in _WORD.findall(text):
        begun.append(word)
        bare = _QUOTED.sub("", " ".join(begun))
        if bare.count("(") <= bare.count(")") and word.lower() != "not":
            found.append(" ".join(begun))
            begun = []
    return [*found, " ".join(begun)] if begun else found


def has(text: str, wanted: str) -> bool:
    """Whether all terms of ``wanted`` have to hold of what ``text`` finds; of two that ``or`` joins, neither has."""
    known = terms(text)
    return not _is_either(known) and set(terms(wanted)) <= set(known)


def toggled(text: str, wanted: str, keys: Iterable[str] = ()) -> str:
    """``text`` without the terms of ``wanted`` if it has them; else with them.

    They take the place of their opposites, and of terms with one of ``keys``.
    """
    new, old = terms(wanted), [term for term in terms(text) if term.lower() != "and"]
    if has(text, wanted):
        return " ".join(term for term in old if term not in new)
    if _is_either(old):
        return f"({text}) {wanted}"
    opposites = {sign + term for term in new for sign in ("-", "not ")}
    left = [term for term in old if not term.startswith(tuple(keys)) and term not in opposites]
    return " ".join([*left, wanted])


def _is_either(known: list[str]) -> bool:
    return any(term.lower() == "or" for term in known)


# --- the page ------------------------------------------------------------------------------------------------------

SIZE = 60
"""Pages that are shown at a time."""
MOST_SHOWN = 300
"""Pages with which a list that has grown by "Show more" is shown again."""


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
    with search_turn(query):
        reading, selection, page = _read(request, query)
        choices = [] if "HX-Request" in request.headers else _facets(request, selection, page)
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
            "facets": choices,
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
        return page_found(sortable(selection, sort), place_of(request), _length(request), ORDERS[sort])
    except PlaceGoneError as gone:
        raise Http404("no such page") from gone


def _length(request: HttpRequest) -> int:
    """How many pages are shown: ``rows``, which library.js puts into the address, else SIZE."""
    rows = request.GET.get("rows", "")
    return min(int(rows), MOST_SHOWN) if re.fullmatch("[1-9][0-9]{1,3}", rows, re.ASCII) else SIZE


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


def _facets(
    request: HttpRequest, selection: Selection | None, page: PageOfRows[Snapshot]
) -> list[tuple[str, list[FacetLink]]]:
    """Of what was found; of the whole library, once for each who sees something else, and for a while."""
    if selection is None:
        return []
    if page.is_all and selection.words and _sort(request) != "worst":  # it need not look for the words once more
        selection = selection.only([row.pk for row in page.rows])
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


# --- while a query is typed ----------------------------------------------------------------------------------------


@public_if("PUBLIC_INDEX")
def suggestions_json(request: HttpRequest) -> JsonResponse:
    """``?q=…&at=<cursor>``: what may stand there, and how the query reads so far."""
    text = request.GET.get("q", "")[:MOST_CHARACTERS]
    at = request.GET.get("at", "")
    cursor = min(int(at), len(text)) if at.isdecimal() and len(at) < 9 else len(text)
    found = complete(text, cursor, viewer_scope(request.user)) if text.strip() else initial_suggestions(request)
    suggestions = [asdict(one) for one in found]
    return JsonResponse({"suggestions": suggestions, **asdict(reading_of(text.strip()))})


# --- saved searches ------------------------------------------------------------------------------------------------


@requires(Action.LIST, to_change=Action.OWN)
@require_POST
@requires(Action.LIST, to_change=Action.OWN)
def keep_search(request: HttpRequest) -> HttpResponse:
    """Keep ``q`` under ``name``, and go back to what it finds."""
    query = request.POST.get("q", "").strip()
    assert isinstance(request.user, User)  # noqa: S101 - nobody gets here without a log-in
    try:
        search = save_search(request.user, request.POST.get("name", ""), query)
        messages.success(request, f"Saved “{search.name}”. It is listed beside the Library.")
    except ValueError as refused:
        messages.error(request, str(refused))
    return redirect(f"{reverse('snapshots')}?{urlencode({'q': query})}")


@requires(Action.LIST, to_change=Action.OWN)
@require_POST
@requires(Action.LIST, to_change=Action.OWN)
def change_search(request: HttpRequest, search_id: UUID) -> HttpResponse:
    """``do``: ``rename`` (to ``name``), ``delete``. Each has searches of their own."""
    search = get_object_or_404(SavedSearch, pk=search_id, owner=request.user)
    wanted = request.POST.get("do")
    try:
        if wanted == "rename":
            rename_search(search, request.POST.get("name", ""))
            messages.success(request, f"Renamed to “{search.name}”.")
        elif wanted == "delete":
            search.delete()
            messages.success(request, f"Deleted “{search.name}”. Its pages are unchanged.")
        else:
            raise Http404("no such change")
    except ValueError as refused:
        messages.error(request, str(refused))
    return redirect(f"{reverse('snapshots')}?{urlencode({'q': search.query})}")
