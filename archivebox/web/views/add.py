"""Owns the page that takes URLs: what was understood of what somebody gives, and what will happen with it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO, cast
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_POST

from archivebox.accounts import audit
from archivebox.accounts.permission import is_visitor, requester_of, viewer_scope
from archivebox.accounts.roles import Action
from archivebox.core.intake.parse_input import ParsedInput, find_versions, parse
from archivebox.core.intake.request import (
    CrawlRequest,
    DuplicatePolicy,
    Requester,
    RequestRefusedError,
    TooManyUrlsError,
    UrlList,
)
from archivebox.core.intake.submit import accept
from archivebox.core.tag import split_tags
from archivebox.crawls.crawl import Crawl
from archivebox.crawls.preset import AddPreset
from archivebox.crawls.refused import Refused
from archivebox.web.auth.page_access import allows, public_if
from archivebox.web.page.crawl_form import DEPTHS, SCOPES, CrawlForm, capturing_titles, offered, plugins_keeping
from archivebox.web.page.redirects import back_to, public_address

AGAIN = [
    (DuplicatePolicy.CAPTURE, "Capture again"),
    (DuplicatePolicy.IF_CHANGED, "Save only if it changed"),
    (DuplicatePolicy.IF_OLDER, "Capture again if older than"),
    (DuplicatePolicy.SKIP, "Skip"),
]
REFUSALS_SHOWN = 50
REFUSALS_TOLD = 3
"""Named on the page that follows."""
BOOKMARK = (
    "javascript:void open('{}?url='+encodeURIComponent(location.href)+'&title='+encodeURIComponent(document.title),"
    "'_blank','noopener')"
)
KNOWN_SHOWN = 10
REFUSED_KEPT = 1_000
"""Lines that were no URLs, kept with the crawl."""
CHOICES = ("depth", "scope", "most", "keep", "plugins", "persona", "tags", "again", "days", "visibility")
"""What a preset holds."""


class AddForm(CrawlForm):
    """What is given, and how it is to be archived."""

    file = forms.FileField(
        label="Or a file",
        required=False,
        help_text="Bookmarks or history of a browser, an export of a bookmark service, a feed, a sitemap, HTML, "
        "Markdown, CSV, JSON, WARC, WACZ, a list.",
    )
    most = forms.IntegerField(
        label="Linked pages at most", min_value=1, initial=500, required=False, help_text="Empty: any number."
    )
    again = forms.ChoiceField(
        label="If already archived", choices=AGAIN, initial=DuplicatePolicy.CAPTURE.value, required=False
    )
    days = forms.IntegerField(label="Days", min_value=0, max_value=36_500, initial=30, required=False)

    title = forms.CharField(
        label="Title", required=False, max_length=512, help_text="Used until the page provides its own."
    )

    @property
    def has_choices(self) -> bool:
        """Whether something is chosen otherwise than it is by itself, or wrong: then the options are shown."""
        fields = [self[name] for name in CHOICES if name in self.fields]
        return any(_plain(one.value()) != _plain(one.field.initial) or one.errors for one in fields)

    def request(self, **more: Any) -> CrawlRequest:
        asked = self.cleaned_data
        policy = DuplicatePolicy(asked["again"] or DuplicatePolicy.CAPTURE)
        most = asked["most"] if asked["depth"] else None
        return super().request(duplicates=policy, days=asked["days"] or 0, title=asked["title"], max_urls=most, **more)

    def given(self) -> Iterator[UrlList]:
        yield from super().given()
        if file := self.cleaned_data.get("file"):
            yield UrlList(cast("BinaryIO", file.file), str(file.name))


def _plain(value: Any) -> str:
    """A value of a field, in which one that was sent equals one that was never asked for."""
    return ",".join(filter(None, map(str, value))) if isinstance(value, list) else str(value or "")


def form_of(request: HttpRequest, *given: Any, **options: Any) -> AddForm:
    """The form; visitors choose URLs and a depth in it, and what they send of anything else is ignored."""
    form = AddForm(*given, user=request.user, **options)
    if is_visitor(request.user):
        for name in form.fields.keys() - {"urls", "depth"}:
            form.fields[name].disabled, form.fields[name].initial = True, None
        depth = cast("forms.TypedChoiceField", form.fields["depth"])
        depth.choices = [choice for choice in DEPTHS if choice[0] <= requester(request).max_depth]
    return form


def requester(request: HttpRequest) -> Requester:
    """Who asks."""
    return requester_of(request.user, request.META.get("REMOTE_ADDR", ""))


@public_if("PUBLIC_ADD_VIEW")
def form(request: HttpRequest) -> HttpResponse:
    """Take the valid lines; say what is wrong with each other line. Other buttons look first, or keep a preset."""
    if request.method != "POST":
        asked_for = {"urls": "url", "title": "title", "tags": "tags", "depth": "depth"}
        given = {name: request.GET[key] for name, key in asked_for.items() if key in request.GET}
        return _page(request, form_of(request, initial=given))
    if name := request.POST.get("use", ""):
        return _page(request, form_of(request, initial=_with_preset(request, name)))
    asked = form_of(request, request.POST, request.FILES)
    if not asked.is_valid():
        return _page(request, asked, status=422)
    if "save" in request.POST:
        _save_preset(request, asked)
    wanted, who, found = asked.request(), requester(request), None
    try:
        found = parse(wanted, who)
        if "look" in request.POST or "save" in request.POST:
            return _page(request, asked, found)
        if wanted.max_urls:  # of the crawl, to which what was given belongs
            wanted = replace(wanted, max_urls=wanted.max_urls + len(found.seeds))
        submitted = accept(wanted, who, found, partial(_noting, request, found))
    except RequestRefusedError as error:
        asked.add_error("file" if asked.files else "urls", str(error))
        return _page(request, asked, found, status=429 if isinstance(error, TooManyUrlsError) else 422)
    if submitted.crawl is None:
        return _page(request, asked, found)
    _tell(request, submitted.crawl, len(submitted.seeds), found)
    return redirect(_onward(request, submitted.crawl, len(submitted.seeds)))


@login_not_required
def from_bookmarklet(request: HttpRequest) -> HttpResponse:
    """Where the bookmark of the form leads, from a page of somebody else, and on to the form.

    A browser sends our cookie (SameSite=Strict) only where a page of ours leads. Nothing is done, and nothing said of
    what is kept.
    """
    query = urlencode({name: request.GET.get(name, "") for name in ("url", "title")})
    return render(request, "web/onward.html", {"address": f"{reverse('add')}?{query}", "title": "Continue to the form"})


@require_POST
@public_if("PUBLIC_ADD_VIEW")
def preview(request: HttpRequest) -> HttpResponse:
    """What was understood, as a piece of the page, while somebody types."""
    asked = form_of(request, request.POST, request.FILES)
    context: dict[str, Any] = {}
    if asked.is_valid():
        try:
            context = _preview_of(request, asked, parse(asked.request(), requester(request)))
        except RequestRefusedError as error:
            context = {"problem": str(error)}
    return render(request, "web/understood.html", context)


def _noting(request: HttpRequest, found: ParsedInput, crawl: Crawl, urls: int) -> None:
    """Lines that were no URLs are kept with the crawl, where they can be looked up and downloaded."""
    audit.record(request.user, "crawl.created", crawl, urls=urls)
    lines: dict[str, list[str]] = {}
    for refusal in found.refusals:
        lines.setdefault(refusal.code, []).append(refusal.text)
    Refused.note(crawl.pk, lines, keep=REFUSED_KEPT)


def _onward(request: HttpRequest, crawl: Crawl, count: int) -> str:
    """One page is looked at while it is captured; with several, people stay where they were, or see them come."""
    if not request.user.is_authenticated:
        return reverse("add")
    if count == 1 and (only := crawl.snapshot_set.first()):
        return reverse("snapshot", args=[only.pk])
    where = back_to(request, "snapshots")
    return reverse("snapshots") if where.startswith(reverse("add")) else where


def _tell(request: HttpRequest, crawl: Crawl, taken: int, found: ParsedInput) -> None:
    is_inside = request.user.is_authenticated
    link = format_html(' <a href="{}">See the crawl</a>', reverse("crawl", args=[crawl.pk])) if is_inside else ""
    messages.success(request, format_html("Archiving {} page{}.{}", f"{taken:,}", "" if taken == 1 else "s", link))
    told = [f"Line {refusal.line}: {refusal.sentence}" for refusal in found.refusals[:REFUSALS_TOLD]]
    if (more := len(found.refusals) - REFUSALS_TOLD) > 0:
        told.append(f"{more:,} more lines were skipped.{' See “Skipped” on the crawl.' if is_inside else ''}")
    if told:
        messages.warning(request, " ".join(told))


# --- what the page says -------------------------------------------------------------------------------------------


def _page(request: HttpRequest, asked: AddForm, found: ParsedInput | None = None, status: int = 200) -> HttpResponse:
    context = _preview_of(request, asked, found) if found is not None else {}
    bookmark = BOOKMARK.format(public_address(request) + reverse("add-page"))
    context |= {"bookmark": bookmark, "next": back_to(request, "snapshots")}
    return render(request, "web/add.html", {"form": asked, "presets": presets_of(request), **context}, status=status)


def presets_of(request: HttpRequest) -> "QuerySet[AddPreset, AddPreset]":
    """What this person has saved of choices."""
    own = AddPreset.objects
    return own.filter(created_by=request.user) if request.user.is_authenticated else own.none()


def _preview_of(request: HttpRequest, asked: AddForm, found: ParsedInput) -> dict[str, Any]:
    find_versions(found, viewer_scope(request.user))
    count = len(found.chosen(asked.request()))
    return {
        "found": found,
        "known": found.known[:KNOWN_SHOWN] if allows(request, Action.READ) else [],
        "refusals": found.refusals[:REFUSALS_SHOWN],
        "sentence": _sentence(asked, count) if count else "",
    }


def _sentence(asked: AddForm, count: int) -> str:
    """What will happen."""
    options = asked.cleaned_data
    what = "Archives this page" if count == 1 else f"Archives {count:,} pages"
    if options["depth"]:
        links = "every page linked there" if options["depth"] == 1 else f"pages up to {options['depth']} links away"
        what += f" and {links} ({dict(SCOPES)[options['scope'] or 'all']})"
        what += f", at most {options['most']:,} of them" if options["most"] else ""
    parts = [what]
    parts.append(_outputs(options["plugins"], options["keep"]))
    if options["persona"]:
        parts.append(f"as {options['persona']}")
    if options["again"] == DuplicatePolicy.IF_CHANGED:
        parts.append("and saved only when changed")
    if tags := split_tags(options["tags"]):
        parts.append(f"tagged {', '.join(tags)}")
    return f"{', '.join(parts)}."


def _outputs(names: Sequence[str], kinds: Sequence[str]) -> str:
    """What is kept of each page."""
    if names:
        titles = dict(capturing_titles())
        return f"by {', '.join(titles.get(name, name) for name in names)}"
    if not plugins_keeping(kinds):
        return "in all formats"
    return f"as {', '.join(shown.label for shown in offered() if shown.kind in kinds)}"


# --- presets ------------------------------------------------------------------------------------------------------


def _with_preset(request: HttpRequest, name: str) -> dict[str, Any]:
    """What was typed, with the choices of one of this person's presets."""
    typed = {"urls": request.POST.get("urls", "")}
    if not request.user.is_authenticated:
        return typed
    preset = AddPreset.objects.filter(created_by=request.user, name=name).first()
    return typed | (preset.choices if preset else {})


def _save_preset(request: HttpRequest, asked: AddForm) -> None:
    name = " ".join(request.POST.get("preset", "").split())[:64]
    if not request.user.is_authenticated or not name:
        messages.error(request, "Enter a preset name.")
        return
    choices = {field: asked.cleaned_data[field] for field in CHOICES}
    AddPreset.objects.update_or_create(created_by=request.user, name=name, defaults={"choices": choices})
    messages.success(request, f"Saved as “{name}”.")
