"""Owns what people do to one snapshot: tag, note, try or capture again, verify, remove, bring back, run scripts."""

from functools import partial
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from archivebox.accounts import audit
from archivebox.accounts.permission import may, reachable_snapshots
from archivebox.accounts.roles import Action
from archivebox.base_models.transactions import write_transaction
from archivebox.core.crawl_control.retry import retry_failed, retry_results
from archivebox.core.crawl_control.set_visibility import show
from archivebox.core.evidence.verification import NO_HASHES, TIME, verdict_on
from archivebox.core.intake.recapture import recapture
from archivebox.core.note import LONGEST, Note
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.core.tag import split_tags
from archivebox.core.tags.assign_tags import retag as put_tags
from archivebox.hooks import plugins
from archivebox.replay.models import own_script_view
from archivebox.search.removal import bring_back
from archivebox.search.removal import remove as remove_snapshots
from archivebox.web.auth.page_access import public_if
from archivebox.web.auth.replay_access import viewer_of
from archivebox.web.page.redirects import back_to
from archivebox.web.page.visibility_form import chosen, visibility_sentence
from archivebox.web.views.snapshot import snapshot_or_404

MOST_TAGS = 1_000
"""That a person may put on one page; as many as its hooks may, unless that is set otherwise."""


@require_POST
def retag(request: HttpRequest, snapshot_id: UUID) -> HttpResponse:
    snapshot, tags = snapshot_or_404(request, snapshot_id), split_tags(request.POST.get("tags", ""))
    if len(tags) > MOST_TAGS:
        messages.error(
            request, f"A page can have {MOST_TAGS:,} tags at most; you entered {len(tags):,}. Nothing changed."
        )
        return redirect("snapshot", snapshot.pk)
    with write_transaction():
        put_tags(snapshot, tags)
        audit.record(request.user, "snapshot.changed", snapshot, tags=list(tags))
    return redirect("snapshot", snapshot.pk)


@require_POST
def note(request: HttpRequest, snapshot_id: UUID) -> HttpResponse:
    """Write a note, or remove one of one's own."""
    snapshot, text = snapshot_or_404(request, snapshot_id), request.POST.get("text", "").strip()
    if request.POST.get("remove"):
        _own_notes(request, snapshot).delete()
    elif len(text) > LONGEST:
        messages.error(request, f"A note can have at most {LONGEST:,} characters; this one has {len(text):,}.")
    elif text:
        Note.objects.create(snapshot=snapshot, author=_person(request), text=text)
    return redirect(f"{reverse('snapshot', args=[snapshot.pk])}#notes")


@require_POST
def retry(request: HttpRequest, snapshot_id: UUID) -> HttpResponse:
    """Run one hook again, whatever it came to, or all that failed."""
    snapshot, wanted = snapshot_or_404(request, snapshot_id), request.POST.get("result", "")
    with write_transaction():
        if wanted:
            count = retry_results(snapshot.archiveresult_set.filter(pk=_key(wanted)))
        else:
            count = retry_failed(_alone(request, snapshot))
        audit.record(request.user, "snapshot.retry", snapshot, url=snapshot.url, results=count)
    messages.success(request, f"{count} will be retried." if count else "Nothing to retry.")
    return redirect("snapshot", snapshot.pk)


@require_POST
def capture(request: HttpRequest, snapshot_id: UUID) -> HttpResponse:
    """Make a new version, with all plugins of that time or with chosen ones; ``more_time``: for those that ran out."""
    snapshot = snapshot_or_404(request, snapshot_id)
    chosen = [name for name in request.POST.getlist("plugin") if name in plugins()]
    with write_transaction():
        may_name_private = may(request.user, Action.ADMINISTER)
        crawl = recapture(
            _alone(request, snapshot),
            created_by=_person(request),
            may_name_private=may_name_private,
            plugins=chosen,
            more_time="more_time" in request.POST,
        )
        audit.record(request.user, "crawl.created", crawl, urls=1)
    messages.success(request, "Capturing again. This is the new version.")
    return redirect("snapshot", crawl.snapshot_set.get().pk)


@require_POST
def verify(request: HttpRequest, snapshot_id: UUID) -> HttpResponse:
    snapshot = snapshot_or_404(request, snapshot_id)
    found = verdict_on(snapshot, TIME)
    if found is None:
        messages.warning(request, NO_HASHES)
    else:
        level = messages.SUCCESS if found.is_whole else messages.ERROR
        messages.add_message(request, level, " ".join(found.sentences))
    return redirect("snapshot", snapshot.pk)


@require_POST
def show_to(request: HttpRequest, snapshot_id: UUID) -> HttpResponse:
    """Change who sees it, as its owner or an administrator."""
    snapshot = snapshot_or_404(request, snapshot_id)
    if seen_by := chosen(request, snapshot):
        with write_transaction():
            show(_alone(request, snapshot), seen_by)
            audit.record(request.user, "snapshot.visibility", snapshot, before=snapshot.visibility, after=seen_by)
        messages.success(request, visibility_sentence(seen_by))
    return redirect("snapshot", snapshot.pk)


@require_POST
def remove(request: HttpRequest, snapshot_id: UUID) -> HttpResponse:
    snapshot = snapshot_or_404(request, snapshot_id)
    with write_transaction():  # before it is done: the search is told outside of any transaction
        audit.record(request.user, "snapshot.removed", snapshot, url=snapshot.url)
    _, problem = remove_snapshots(_alone(request, snapshot))
    if problem:
        messages.warning(request, problem)
    return redirect("snapshot", snapshot_id)


@require_POST
def restore(request: HttpRequest, snapshot_id: UUID) -> HttpResponse:
    snapshot = snapshot_or_404(request, snapshot_id)
    noting = partial(audit.record, request.user, "snapshot.restored", snapshot, url=snapshot.url)
    _, problem = bring_back(_alone(request, snapshot), noting)
    messages.success(request, f"Restored. {problem}")
    return redirect("snapshot", snapshot_id)


def _alone(request: HttpRequest, snapshot: Snapshot) -> SnapshotQuerySet:
    """The one, for what is done to many."""
    return reachable_snapshots(request.user).filter(pk=snapshot.pk)


def _person(request: HttpRequest) -> User:
    """Who asks; these pages are for people who are logged in."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def _own_notes(request: HttpRequest, snapshot: Snapshot) -> "models.QuerySet[Note]":
    return Note.objects.filter(snapshot=snapshot, author=_person(request), pk=_key(request.POST["remove"]))


def _key(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise Http404("no such row") from error


@require_POST
@public_if("PUBLIC_SNAPSHOTS", to_change=Action.READ)
def change_view(request: HttpRequest, snapshot_id: UUID, view_id: UUID) -> HttpResponseBase:
    """End the view and go back to the page without scripts. ``do=renew``: have it last, and say what it refused."""
    snapshot_or_404(request, snapshot_id)
    view = own_script_view(view_id, viewer_of(request))
    if request.POST.get("do") == "renew":
        if view is None or view.snapshot_id != snapshot_id:
            raise Http404("no such view")
        view.renew()
        return JsonResponse({"refused": view.violation_count})
    if view is not None and view.snapshot_id == snapshot_id:
        view.end()
    answer: HttpResponse = redirect(back_to(request, reverse("snapshot", args=[snapshot_id])))
    return answer
