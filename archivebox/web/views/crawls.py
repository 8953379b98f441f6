"""Owns the list of crawls, the page of one, and what people do from there.

They pause, stop, discard and resume it, exclude URLs, change its limits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from archivebox.accounts import audit
from archivebox.accounts.permission import may_show, viewer_scope, visible_crawls, visible_snapshots
from archivebox.accounts.roles import Action
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import seen_by
from archivebox.config.core import CORE_SETTINGS
from archivebox.config.resolve import Resolved, SettingError
from archivebox.contract.reasons import action, sentence
from archivebox.contract.schema import SettingSpec
from archivebox.core.crawl_control import edit_crawl
from archivebox.core.crawl_control.edit_crawl import judged, queue_of, rules_with
from archivebox.core.crawl_control.set_visibility import show_crawl
from archivebox.core.progress.crawl_progress import pages_of as page_columns
from archivebox.core.progress.crawl_progress import progress_of, sizes_of, with_plugin_states
from archivebox.crawls import control
from archivebox.crawls.crawl import Crawl
from archivebox.crawls.refused import Refused
from archivebox.hooks import plugins, resolve_settings
from archivebox.lib.jsonl import JSON
from archivebox.web.auth.page_access import allows, requires
from archivebox.web.page.list_paging import page_of
from archivebox.web.page.setting_form import label_of
from archivebox.web.page.visibility_form import SEEN_BY, chosen, visibility_sentence
from archivebox.web.templatetags.live import actions_of

QUEUE_SHOWN = 200
"""Lines of the queue that are shown, and tried against patterns."""
DROPPED_COUNTED = 1_000
"""Pages that were let go of, the newest, that are counted by their reason."""
TABS = {"pages": "Pages", "queue": "Queue", "refused": "Skipped", "settings": "Settings"}
STATES = {
    "running": Q(status="started"), "waiting": Q(status="queued"), "done": Q(status="sealed"),
    "paused": Q(status="paused"), "stopped": Q(status="cancelled", fence__gt=0),
    "dropped": Q(status="cancelled", fence=0),
}  # fmt: skip
_CRAWLS = tuple(name for name in CORE_SETTINGS if name.startswith(("URL_", "MAX_", "DOMAIN_", "PLUGINS", "ACTIVE_")))


@requires(Action.READ)
def index(request: HttpRequest) -> HttpResponse:
    """The newest first, each with how far it is."""
    page = page_of(visible_crawls(request.user).defer("config"), request)
    lines = list(zip(page.rows, sizes_of(page.rows, viewer_scope(request.user)), strict=True))
    return render(request, "web/crawls.html", {"page": page, "lines": lines, "busy": _is_any_open(page.rows)})


def _is_any_open(crawls: list[Crawl]) -> bool:
    return any(crawl.status in Crawl.OPEN for crawl in crawls)


@requires(Action.READ)
def one(request: HttpRequest, crawl_id: UUID) -> HttpResponse:
    """One crawl: how far it is, and in ``?show=`` its pages, its queue, what was not taken, or its settings."""
    crawl = crawl_or_404(request, crawl_id)
    show = request.GET.get("show", "pages")
    if show not in TABS:
        raise Http404("no such tab")
    return crawl_page(request, crawl, show)


def crawl_or_404(request: HttpRequest, crawl_id: UUID) -> Crawl:
    """The crawl, if whoever asks may see it."""
    return get_object_or_404(visible_crawls(request.user), pk=crawl_id)


def crawl_page(
    request: HttpRequest, crawl: Crawl, show: str, more: dict[str, Any] | None = None, status: int = 200
) -> HttpResponse:
    """The page, with ``more`` for one of its parts: a form that was not taken, and why."""
    progress = progress_of(crawl, viewer_scope(request.user))
    context = {
        "crawl": crawl, "title": str(crawl), "progress": progress, "busy": crawl.status in Crawl.OPEN,
        "seen_by": SEEN_BY, "can_show": may_show(request.user, crawl),
        "actions": actions_of(crawl, progress) if allows(request, Action.EDIT) else [],
        "show": show, "tabs": TABS, "part": f"web/crawl_{show}.html",
        **_PARTS[show](request, crawl), **(more or {}),
    }  # fmt: skip
    return render(request, "web/crawl.html", context, status=status)


# --- its parts ------------------------------------------------------------------------------------------------------


def pages_part(request: HttpRequest, crawl: Crawl) -> dict[str, Any]:
    """Its pages, newest first, by ``?state=``, each with what its hooks came to."""
    state = request.GET.get("state", "")
    rows = visible_snapshots(request.user).of_crawl(crawl.pk)
    if state in STATES:
        rows = rows.filter(STATES[state])
    page = page_of(rows.only("pk"), request)
    keys = [snapshot.pk for snapshot in page.rows]
    by_key = {one.pk: one for one in with_plugin_states(page_columns(keys))}
    pages = [by_key[key] for key in keys if key in by_key]
    unfetched = f"is:unfetched crawl:{crawl.pk}"
    return {"page": page, "pages": pages, "state": state, "states": STATES, "unfetched": unfetched}


def _queue_part(request: HttpRequest, crawl: Crawl) -> dict[str, Any]:
    """The next pages of its queue, each tried against its patterns, or for who steers it ``?allow=`` and ``?deny=``."""
    settings = resolve_settings(crawl.layers())
    patterns = {"allow": settings.get_text("URL_ALLOWLIST"), "deny": settings.get_text("URL_DENYLIST")}
    asked = request.GET if allows(request, Action.EDIT) else {}
    tried = {name: asked.get(name, known) for name, known in patterns.items()}
    problem = ""
    try:
        rules = rules_with(crawl, **tried)
    except ValueError as error:
        problem, rules = f"{error}.", rules_with(crawl)
    waiting = list(judged(seen_by(viewer_scope(request.user), queue_of(crawl))[: QUEUE_SHOWN + 1], rules))
    lines = list(islice(waiting, QUEUE_SHOWN))
    return {
        "lines": lines, "more": len(waiting) > len(lines), "struck": sum(not line.answer.admitted for line in lines),
        "tried": tried, "is_tried": tried != patterns, "problem": problem,
    }  # fmt: skip


def _refused_part(request: HttpRequest, crawl: Crawl) -> dict[str, Any]:
    """URLs that its pages link to and that it did not take, by reason; and those that were let go of later."""
    found = [
        (row, sentence(row.code), action(row.code)) for row in Refused.objects.filter(crawl=crawl).order_by("-count")
    ]
    dropped = visible_snapshots(request.user).of_crawl(crawl.pk).filter(status="cancelled")
    newest = dropped.order_by("-pk").values("pk")[:DROPPED_COUNTED]
    reasons = visible_snapshots(request.user).filter(pk__in=newest).order_by().values_list("reason")
    let_go = [(sentence(code), pages) for code, pages in reasons.annotate(pages=Count("pk")).order_by("-pages")]
    return {"refused": found, "let_go": let_go, "is_more": sum(pages for _, pages in let_go) == DROPPED_COUNTED}


@dataclass(frozen=True, slots=True)
class CrawlSetting:
    """A setting that holds for the crawl."""

    name: str
    label: str
    text: str
    value: JSON
    place: str
    is_own: bool

    @property
    def is_set(self) -> bool:
        return self.value not in (None, "", [])


def _settings_part(request: HttpRequest, crawl: Crawl) -> dict[str, Any]:
    """What steers it, and all that is set for it, with where each comes from."""
    del request
    settings = resolve_settings(crawl.layers())
    specs = {name: spec for plugin in plugins().values() for name, spec in plugin.schema.settings.items()}
    names = dict.fromkeys([*_CRAWLS, *(name for name in crawl.settings if name in specs or name in CORE_SETTINGS)])
    lines = [_line(settings, {**specs, **CORE_SETTINGS}[name]) for name in names]
    most = {"max_urls": settings.find_int("MAX_URLS"), "max_size": settings.find_int("MAX_SIZE")}
    return {"settings": lines, "limits": {"max_depth": crawl.max_depth, **most}}


def _line(settings: Resolved, spec: SettingSpec) -> CrawlSetting:
    name = spec.name
    said = settings.explain(name)
    place = said[-1][0] if said else "default"
    try:
        value: JSON = "hidden" if settings.is_sensitive(name) else settings.get(name)
    except SettingError as error:
        value = str(error)
    return CrawlSetting(name, label_of(spec), spec.description, value, place, place.startswith("crawl"))


_PARTS = {"pages": pages_part, "queue": _queue_part, "refused": _refused_part, "settings": _settings_part}


# --- what people do ------------------------------------------------------------------------------------------------

ACTIONS = {
    "pause": (control.pause, "Paused."),
    "resume": (edit_crawl.go_on, "Resumed."),
    "cancel": (control.cancel, "Stopped. Archived pages are kept."),
    "discard": (lambda crawl: edit_crawl.discard(crawl) > 0, "Discarded. Its pages were removed from the library."),
}


class Limits(forms.Form):
    """How far a crawl goes; what is left empty has no limit of its own."""

    max_depth = forms.IntegerField(min_value=0, max_value=100)
    max_urls = forms.IntegerField(min_value=1, required=False)
    max_size = forms.IntegerField(min_value=1, required=False)


@require_POST
def do(request: HttpRequest, crawl_id: UUID) -> HttpResponse:
    """Pause, resume, stop or discard it."""
    crawl = crawl_or_404(request, crawl_id)
    name = request.POST.get("change", "")
    if name not in ACTIONS:
        raise Http404("no such change")
    change, done = ACTIONS[name]
    with write_transaction():  # before it is done: some of them are several transactions
        entry = audit.record(request.user, f"crawl.{name}", crawl)
    if change(crawl):
        messages.success(request, done)
    else:
        entry.delete()
        crawl.refresh_from_db(fields=["status"])
        messages.error(request, f"The crawl is already {crawl.status}.")
    return redirect("crawl", crawl.pk)


@require_POST
def patterns(request: HttpRequest, crawl_id: UUID) -> HttpResponse:
    """Change which URLs belong to it: by both lists of patterns, or by one URL that is excluded."""
    crawl = crawl_or_404(request, crawl_id)
    try:
        if url := request.POST.get("exclude", ""):
            count = edit_crawl.exclude(crawl, edit_crawl.literally(url), noting=_noting(request, crawl, exclude=url))
        else:
            lists = {"URL_ALLOWLIST": request.POST.get("allow", ""), "URL_DENYLIST": request.POST.get("deny", "")}
            settings = {name: _lines(text) for name, text in lists.items()}
            count = edit_crawl.change(crawl, settings, noting=_noting(request, crawl, **lists))
    except SettingError as error:
        return crawl_page(request, crawl, "queue", {"problem": str(error), "tried": request.POST}, status=422)
    messages.success(
        request, f"{count} page{'' if count == 1 else 's'} excluded." if count else "No queued pages match."
    )
    return redirect(f"{reverse('crawl', args=[crawl.pk])}?show=queue")


@require_POST
def limits(request: HttpRequest, crawl_id: UUID) -> HttpResponse:
    """Change how far it goes."""
    crawl, form = crawl_or_404(request, crawl_id), Limits(request.POST)
    if not form.is_valid():
        return crawl_page(request, crawl, "settings", {"form_errors": form.errors, "limits": request.POST}, status=422)
    asked = form.cleaned_data
    settings = {"MAX_URLS": asked["max_urls"], "MAX_SIZE": asked["max_size"]}
    noting = _noting(request, crawl, **asked)
    count = edit_crawl.change(crawl, settings, max_depth=asked["max_depth"], noting=noting)
    messages.success(
        request,
        f"Changed. {count} page{'s are' if count != 1 else ' is'} now too deep and skipped." if count else "Changed.",
    )
    return redirect(f"{reverse('crawl', args=[crawl.pk])}?show=settings")


@require_POST
def show_to(request: HttpRequest, crawl_id: UUID) -> HttpResponse:
    """Change who sees it, all its pages, and those to come, as its owner or an administrator."""
    crawl = crawl_or_404(request, crawl_id)
    if seen_by := chosen(request, crawl):
        change = {"before": crawl.visibility, "after": seen_by.value}
        show_crawl(crawl, seen_by, partial(audit.record, request.user, "crawl.visibility", crawl, **change))
        messages.success(request, f"This crawl and its pages: {visibility_sentence(seen_by)}")
    return redirect("crawl", crawl.pk)


def _noting(request: HttpRequest, crawl: Crawl, **detail: Any) -> Callable[[], object]:
    """What puts the change on record, in its own transaction."""
    return partial(audit.record, request.user, "crawl.changed", crawl, **detail)


def _lines(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())
