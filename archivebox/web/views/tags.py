"""Owns the page of tags: found, made, renamed, merged, deleted."""

import re
from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from archivebox.accounts import audit
from archivebox.accounts.permission import viewer_scope
from archivebox.base_models.paging import Order
from archivebox.base_models.transactions import write_transaction
from archivebox.core.tag import Tag
from archivebox.core.tags.assign_tags import pages_of, tags_seen_by
from archivebox.core.tags.edit_tags import NameTakenError, merge, rename
from archivebox.search.facets import COUNTED
from archivebox.web.page.list_paging import at_most, page_of

SIZE = 60
"""Tags that are shown at a time."""
BY_NAME = Order("slug")


@dataclass(frozen=True, slots=True)
class ListedTag:
    """One tag as the page shows it."""

    tag: Tag
    pages: str


def index(request: HttpRequest) -> HttpResponse:
    """``?name=`` shows those that are called so, or nearly so. POST makes a tag."""
    if request.method == "POST":
        return _make(request)
    return _page(request)


def _make(request: HttpRequest) -> HttpResponse:
    with write_transaction():
        tag = Tag.named(request.POST.get("name", ""))
        if tag is not None:
            audit.record(request.user, "tag.created", tag, name=tag.name)
    if tag is None:
        messages.error(request, "A tag must contain a letter or digit.")
        return _page(request, status=422)
    messages.success(request, f"Created tag “{tag.name}”.")
    return _done(request)


@require_POST
def change(request: HttpRequest, tag_id: UUID) -> HttpResponse:
    """``do``: ``rename`` (to ``name``), ``merge`` (into the tag ``into``), ``delete``."""
    tag = get_object_or_404(tags_seen_by(viewer_scope(request.user), most=None), pk=tag_id)
    wanted, before, said = request.POST.get("do"), tag.name, ""
    try:
        with write_transaction():
            if wanted == "rename":
                rename(tag, request.POST.get("name", ""))
                audit.record(request.user, "tag.renamed", tag, before=before, after=tag.name)
                said = f"Renamed to “{tag.name}”."
            elif wanted == "merge":
                audit.record(request.user, "tag.merged", tag, name=tag.name, into=request.POST.get("into", ""))
                said = _merge(tag, request.POST.get("into", ""))
            elif wanted == "delete":
                audit.record(request.user, "tag.removed", tag, name=tag.name)
                tag.delete()
                said = f"Deleted tag “{tag.name}”. Its pages are unchanged."
        if said:
            messages.success(request, said)
    except NameTakenError as taken:
        return _ask(request, tag, taken.other)
    except ValueError as refused:
        messages.error(request, str(refused))
        return _page(request, status=422)
    return _done(request)


def _ask(request: HttpRequest, tag: Tag, other: Tag) -> HttpResponse:
    """Whether the two are to be made one, in place of the whole page."""
    answer = render(request, "web/tags/merge.html", {"tag": tag, "other": other}, status=409)
    for name, value in (("HX-Retarget", "#main"), ("HX-Reselect", "#main"), ("HX-Reswap", "outerHTML")):
        answer[name] = value
    return answer


def _merge(tag: Tag, name: str) -> str:
    """Make ``tag`` one with the tag of this name. ValueError where that is none, or itself."""
    into = Tag.objects.filter(slug=Tag.slug_of(name)).first()
    if into is None or into == tag:
        raise ValueError(f"No other tag named “{name}”. Choose an existing tag.")
    merge([tag], into)
    return f"Merged “{tag.name}” into “{into.name}”."


def _done(request: HttpRequest) -> HttpResponse:
    """The list as it is now: in its place, or as a page."""
    return _page(request) if "HX-Request" in request.headers else redirect("tags")


def _page(request: HttpRequest, status: int = 200) -> HttpResponse:
    name, scope = request.GET.get("name", "").strip(), viewer_scope(request.user)
    context = {
        "name": name,
        "is_new": bool(Tag.slug_of(name)) and not Tag.objects.filter(slug=Tag.slug_of(name)).exists(),
    }
    if name:
        shown = _nearly(name, tags_seen_by(scope))
    else:
        page = page_of(tags_seen_by(scope), request, SIZE, BY_NAME)
        shown, context["page"] = page.rows, page
    counts = pages_of(shown, scope, COUNTED)
    context["lines"] = [ListedTag(tag, at_most(counts.get(tag.pk, 0), COUNTED)) for tag in shown]
    is_part = "HX-Request" in request.headers
    return render(request, "web/tags/part.html" if is_part else "web/tags/index.html", context, status=status)


def pattern_of(name: str) -> str:
    """These letters in this order. Between two stands what is not the second: there is one way to match, and no tag
    keeps the server busy with all the ways in which it does not.
    """
    first, *others = [re.escape(letter) for letter in name if not letter.isspace()] or [""]
    return first + "".join(f"[^{letter}]*{letter}" for letter in others)


def _nearly(name: str, tags: QuerySet[Tag]) -> list[Tag]:
    """Those with these letters in this order, the nearest first: ``rcp`` finds ``recipes``."""
    found = tags.filter(name__iregex=pattern_of(name))
    lower = name.lower()
    nearest = sorted(found, key=lambda tag: (not tag.name.lower().startswith(lower), lower not in tag.name.lower()))
    return nearest[:SIZE]
