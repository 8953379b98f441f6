"""Owns the page that shows a URL as it was: found by address and time, with the banner that says what one looks at.

And the addresses that imported pages had in an earlier ArchiveBox.
"""

import re
from urllib.parse import unquote
from uuid import UUID

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import get_script_prefix, reverse
from django.utils.http import urlencode

from archivebox.accounts.permission import reachable_snapshots, viewer_scope
from archivebox.accounts.roles import Action
from archivebox.core.outputs.opening import opening_of
from archivebox.core.snapshot import Snapshot
from archivebox.imports.readers.old_page import REST, place_of
from archivebox.lib.urls import BadUrl, parse_url
from archivebox.replay.moments import moment_of, nearest, neighbours, read_moment
from archivebox.web.auth.page_access import may_see, public_if
from archivebox.web.snapshot.replay_frame import frame_of, index_of, scripted_frame
from archivebox.web.views.shell import opens_with_scripts

LATEST = "latest"
FAILURES_SHOWN = 50
_WHOLLY_ESCAPED = re.compile(r"https?%3a", re.IGNORECASE)
"""A URL that was put into ours as programs do it: ``https%3A%2F%2Fexample.com%2F``."""


@public_if("PUBLIC_SNAPSHOTS", to_change=Action.READ)
def page(request: HttpRequest, when: str, url: str) -> HttpResponse:
    """``/web/<latest or YYYYMMDDhhmmss>/<URL>``: the version nearest to that time. POST runs the page's scripts."""
    try:
        wanted = parse_url(_as_sent(request, when, url)).without_fragment
    except BadUrl as problem:
        return _wrong(request, f"Invalid page address: {problem}.")
    moment = None if when == LATEST else read_moment(when)
    if moment is None and when != LATEST:
        return _wrong(request, f"{when} is not a valid time. Use YYYYMMDDhhmmss or “latest”.")
    snapshot = nearest(wanted, viewer_scope(request.user), moment)
    if snapshot is None:
        is_web = wanted.startswith(("https://", "http://"))
        context = {"url": wanted, "may_add": may_see(request, "PUBLIC_ADD_VIEW"), "is_web": is_web}
        return render(request, "web/not_kept.html", context, status=404)
    return _shown(request, snapshot, when, wanted)


def _shown(request: HttpRequest, snapshot: Snapshot, when: str, wanted: str) -> HttpResponse:
    frame = frame_of(request, snapshot)
    if frame is None:
        return redirect("snapshot", snapshot.pk)
    if (when, wanted) != (moment_of(snapshot), snapshot.url):
        return redirect(address_of(snapshot))
    results = list(snapshot.archiveresult_set.all())
    scripts = frame.may_run and opens_with_scripts(request)
    opening = opening_of(snapshot, results, has_replay=True, scripts=scripts)
    if opening.runs_scripts or (request.method == "POST" and "scripts" in request.POST):
        frame = scripted_frame(request, snapshot) or frame
    elif opening.copy:
        frame = frame_of(request, snapshot, opening.copy) or frame
    older, newer = neighbours(snapshot, viewer_scope(request.user))
    index = index_of(snapshot)
    context = {
        "snapshot": snapshot,
        "frame": frame,
        "why": opening.why,
        "copy": None if frame.runs else opening.copy,
        "kept": index.count,
        "failures": sorted(index.failures.items())[:FAILURES_SHOWN],
        "failed": len(index.failures),
        "older": address_of(older) if older else "",
        "newer": address_of(newer) if newer else "",
    }
    return render(request, "web/replay.html", context)


def address_of(snapshot: Snapshot) -> str:
    """Where a snapshot is shown by its URL and time."""
    return f"{get_script_prefix()}web/{moment_of(snapshot)}/{snapshot.url}"


@login_not_required
def follow(request: HttpRequest, when: str, url: str) -> HttpResponse:
    """Pass a link that was followed in an archived page on to :func:`page`.

    A browser sends our cookie (SameSite=Strict) only where a page of ours leads, and the archived page is none of ours.
    This one says nothing of what is kept.
    """
    sent = _as_sent(request, f"follow/{when}", url)
    return render(request, "web/follow.html", {"address": f"{get_script_prefix()}web/{when}/{sent}"})


def _as_sent(request: HttpRequest, before: str, url: str) -> str:
    """The URL with its escapes and its query, which Django has taken apart."""
    raw = getattr(request, "scope", {}).get("raw_path")
    path = raw.decode("ascii", "replace").partition(f"/web/{before}/")[2] if raw else url
    if _WHOLLY_ESCAPED.match(path):
        path = unquote(path)
    query = request.META.get("QUERY_STRING", "")
    return f"{path}?{query}" if query else path


def _wrong(request: HttpRequest, sentence: str) -> HttpResponse:
    return render(request, "web/error.html", {"title": "Invalid address", "sentence": sentence}, status=400)


@public_if("PUBLIC_SNAPSHOTS")
def older_address(request: HttpRequest, timestamp: str = "", former_id: str = "", path: str = "") -> HttpResponse:
    """``/archive/<timestamp>/<path>``, ``/snapshot/<key>/``: the page, with what that file belongs to."""
    origin = {"imported_from__former_id": UUID(former_id)} if former_id else {"imported_from__key": timestamp}
    rows = reachable_snapshots(request.user).filter(**origin)
    snapshot = rows.order_by("-pk").first()
    if snapshot is None:
        raise Http404("no such snapshot")
    address, (plugin, _) = reverse("snapshot", args=[snapshot.pk]), place_of(path)
    return redirect(address if plugin == REST else f"{address}?{urlencode({'view': plugin})}")
