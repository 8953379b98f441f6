"""Owns the pages of personas: who crawls are to the sites they visit."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from archivebox.accounts.permission import visible_crawls, visible_schedules
from archivebox.accounts.roles import Action
from archivebox.config.personas import personas_in
from archivebox.config.settings import DATA_FOLDER
from archivebox.web.auth.page_access import requires

CRAWLS_SHOWN = 20


@requires(Action.INSPECT)
def index(request: HttpRequest) -> HttpResponse:
    """All of this collection."""
    return render(request, "web/personas/index.html", {"personas": personas_in(DATA_FOLDER.personas)})


@requires(Action.INSPECT)
def one(request: HttpRequest, name: str) -> HttpResponse:
    """One: what it has, and the latest crawls that ran as it."""
    persona = next((one for one in personas_in(DATA_FOLDER.personas) if one.name == name), None)
    if persona is None:
        raise Http404("no such persona")
    context = {
        "persona": persona,
        "crawls": visible_crawls(request.user).filter(persona=name).order_by("-pk")[:CRAWLS_SHOWN],
        "schedules": [one for one in visible_schedules(request.user) if one.template.get("persona") == name],
    }
    return render(request, "web/personas/one.html", context)
