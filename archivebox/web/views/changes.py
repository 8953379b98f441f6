"""Owns the page on which two versions of a URL are compared, as text and as pictures."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from archivebox.accounts.permission import viewer_scope
from archivebox.contract.formats import Format, FormatKind, best_of, formats_of
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot
from archivebox.core.versions.text_differences import compare
from archivebox.hooks import outputs_of
from archivebox.web.auth.page_access import public_if
from archivebox.web.page.cards import cards
from archivebox.web.snapshot.file_excerpts import NOTHING, FileExcerpt, address_of, read_part
from archivebox.web.snapshot.version_strip import strip_of
from archivebox.web.views.snapshot import results_of, snapshot_or_404


@public_if("PUBLIC_SNAPSHOTS")
def changes(request: HttpRequest, snapshot_id: UUID, other_id: UUID) -> HttpResponse:
    """The older beside the newer of two versions; ``?as=picture`` lays their pictures over each other."""
    versions = [snapshot_or_404(request, key) for key in (snapshot_id, other_id)]
    old, new = sorted(versions, key=lambda one: one.pk)
    if old.url != new.url or old.retired_at or new.retired_at:
        raise Http404("these are not two versions of one page")
    if (old.pk, new.pk) != (snapshot_id, other_id):
        return redirect("changes", old.pk, new.pk)
    context = {
        "old": old,
        "new": new,
        "card": cards(request, [new])[0],
        "strip": strip_of(new, viewer_scope(request.user)),
        "as_picture": request.GET.get("as") == "picture",
    }
    context |= _pictures(request, old, new) if context["as_picture"] else _texts(old, new)
    return render(request, "web/changes.html", context)


def _texts(old: Snapshot, new: Snapshot) -> dict[str, object]:
    before, after = (_text_of(one) for one in (old, new))
    if not (before.size and after.size):
        return {"missing": [one for one, part in ((old, before), (new, after)) if not part.size]}
    return {"difference": compare(before.text, after.text), "is_cut": before.is_cut or after.is_cut}


def _text_of(snapshot: Snapshot) -> FileExcerpt:
    best = best_of(results_of(snapshot), outputs_of, "text")
    return read_part(snapshot, best.plugin, best.files[0].name) if best else NOTHING


def _pictures(request: HttpRequest, old: Snapshot, new: Snapshot) -> dict[str, object]:
    found = [_picture_of(results_of(one)) for one in (old, new)]
    shown = [
        (snapshot, card.base() + address_of(picture.plugin, picture.files[0].name))
        for snapshot, picture, card in zip((old, new), found, cards(request, [old, new]), strict=True)
        if picture
    ]
    return {"missing": [one for one, picture in zip((old, new), found, strict=True) if not picture], "pictures": shown}


def _picture_of(results: list[ArchiveResult]) -> Format | None:
    return next((one for one in formats_of(results, outputs_of) if one.kind is FormatKind.PICTURE and one.files), None)
