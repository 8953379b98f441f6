"""Owns keeping searches under a name, from the Library."""

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from archivebox.accounts.roles import Action
from archivebox.search.models import SavedSearch
from archivebox.search.saved import rename_search, save_search
from archivebox.web.auth.page_access import requires


@requires(Action.LIST, to_change=Action.OWN)
@require_POST
@requires(Action.LIST, to_change=Action.OWN)
def create(request: HttpRequest) -> HttpResponse:
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
def change(request: HttpRequest, search_id: UUID) -> HttpResponse:
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
