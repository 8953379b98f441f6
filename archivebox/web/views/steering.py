"""Owns what people do to a crawl from its page: pause, stop, discard and resume it, exclude URLs, change its limits."""

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from archivebox.accounts import audit
from archivebox.base_models.transactions import write_transaction
from archivebox.config.resolve import SettingError
from archivebox.core.crawl_control import edit_crawl
from archivebox.core.crawl_control.set_visibility import show_crawl
from archivebox.crawls import control
from archivebox.crawls.crawl import Crawl
from archivebox.web.page.visibility_form import chosen, visibility_sentence
from archivebox.web.views.crawls import crawl_or_404, crawl_page

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
