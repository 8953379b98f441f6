"""Owns taking what a person chooses of the look of pages."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from archivebox.accounts.roles import Action
from archivebox.web.auth.page_access import public_if
from archivebox.web.page.display_preferences import display_preferences_of
from archivebox.web.page.redirects import back_to


@require_POST
@public_if("PUBLIC_INDEX", to_change=Action.LIST)
def choose(request: HttpRequest) -> HttpResponse:
    """Keep the choices in the form, and go back to the page that showed it."""
    answer = redirect(back_to(request, "snapshots"))
    wanted = request.POST.dict()
    if "columns" in wanted:  # one for each column that is wanted, and an empty one before them
        wanted["columns"] = ",".join(request.POST.getlist("columns"))
    display_preferences_of(request).chosen(wanted).keep(answer)
    return answer
