"""Owns the addresses that imported pages had in an earlier ArchiveBox."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from archivebox.accounts.permission import reachable_snapshots
from archivebox.imports.readers.old_page import REST, place_of
from archivebox.web.auth.page_access import public_if


@public_if("PUBLIC_SNAPSHOTS")
def one(request: HttpRequest, timestamp: str, path: str = "") -> HttpResponse:
    """``/archive/<timestamp>/<path>``: the page of the snapshot, with what that file belongs to."""
    rows = reachable_snapshots(request.user).filter(imported_from__key=timestamp)
    snapshot = rows.order_by("-pk").first()
    if snapshot is None:
        raise Http404("no such snapshot")
    address, (plugin, _) = reverse("snapshot", args=[snapshot.pk]), place_of(path)
    return redirect(address if plugin == REST else f"{address}?{urlencode({'view': plugin})}")
