"""Owns what the page around a script view asks for: that the view lasts, or ends."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from archivebox.accounts.roles import Action
from archivebox.replay.scripts.view import own_script_view
from archivebox.web.auth.page_access import public_if
from archivebox.web.auth.replay_access import viewer_of
from archivebox.web.page.redirects import back_to
from archivebox.web.views.snapshot import snapshot_or_404


@require_POST
@public_if("PUBLIC_SNAPSHOTS", to_change=Action.READ)
def change(request: HttpRequest, snapshot_id: UUID, view_id: UUID) -> HttpResponseBase:
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
