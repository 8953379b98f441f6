"""Owns the page on which people read about the API, and try it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from archivebox.accounts.roles import Action
from archivebox.web.auth.page_access import requires


@requires(Action.LIST)
def page(request: HttpRequest) -> HttpResponse:
    """Drawn by Swagger UI from ``/api/v1/openapi.json``."""
    return render(request, "web/api_docs.html")
