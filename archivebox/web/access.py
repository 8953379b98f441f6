"""Owns which pages answer without a log-in: those that say so here, and those that a setting opens."""

from collections.abc import Callable
from typing import TypeVar

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponseBase

from archivebox.web import settings

View = TypeVar("View", bound=Callable[..., HttpResponseBase])


def public_if(setting: str) -> Callable[[View], View]:
    """``@public_if("PUBLIC_INDEX")``: no log-in needed where this setting is on. Read once, when the server starts."""

    def decorate(view: View) -> View:
        return login_not_required(view) if getattr(settings, setting) else view

    return decorate


def may_see(request: HttpRequest, setting: str) -> bool:
    """Whether whoever asks may see what this setting opens: for what a page shows of other pages."""
    return request.user.is_authenticated or bool(getattr(settings, setting))
