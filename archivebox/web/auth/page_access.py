"""Owns who may open which page: what each asks for, and what answers without a log-in where a setting opens it."""

from collections.abc import Callable
from typing import TypeVar

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from archivebox.accounts.audit import ADDRESS
from archivebox.accounts.permission import may
from archivebox.accounts.roles import OPENED_BY, Action, actions_of
from archivebox.web import settings

View = TypeVar("View", bound=Callable[..., HttpResponseBase])
AnyView = Callable[..., HttpResponseBase]

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_NEEDS = "archivebox_needs"
_BY_DEFAULT = (Action.LIST, Action.EDIT)


def requires(to_see: Action, *, to_change: Action = Action.EDIT) -> Callable[[View], View]:
    """What a page asks for, and what its POST does. A view that says nothing asks for LIST, and to POST for EDIT."""

    def decorate(view: View) -> View:
        setattr(view, _NEEDS, (to_see, to_change))
        return view

    return decorate


def public_if(setting: str, *, to_change: Action | None = None) -> Callable[[View], View]:
    """``@public_if("PUBLIC_INDEX")``: no log-in needed where this setting is on. Read once, when the server starts.

    With a log-in the page asks for what the setting opens.
    """
    (opened,) = OPENED_BY[setting]
    changing = to_change or (Action.ADD if opened is Action.ADD else Action.EDIT)

    def decorate(view: View) -> View:
        asking = requires(opened, to_change=changing)(view)
        return login_not_required(asking) if getattr(settings, setting) else asking

    return decorate


def allows(request: HttpRequest, action: Action) -> bool:
    """Whether whoever asks may do this: for what a page shows, or does, beside what it is for."""
    return may(request.user, action)


def may_see(request: HttpRequest, setting: str) -> bool:
    """Whether whoever asks may see what this setting opens: for what a page shows of other pages."""
    (opened,) = OPENED_BY[setting]
    return allows(request, opened)


class Address(MiddlewareMixin):
    """Lets what is put on record say from where it was asked for."""

    def process_request(self, request: HttpRequest) -> None:
        ADDRESS.set(request.META.get("REMOTE_ADDR", ""))

    def process_response(self, request: HttpRequest, answer: HttpResponseBase) -> HttpResponseBase:
        del request
        ADDRESS.set("")
        return answer


class Permissions(MiddlewareMixin):
    """Refuses, with 403, what the role of an account does not allow. Who has to log in first was asked before."""

    def process_view(self, request: HttpRequest, view: AnyView, args: object, kwargs: object) -> None:
        del args, kwargs
        needs = getattr(view, _NEEDS, None)
        if needs is None and not getattr(view, "login_required", True):
            return  # open to everybody, or asks for itself
        to_see, to_change = needs or _BY_DEFAULT
        if not allows(request, to_see if request.method in SAFE else to_change):
            raise PermissionDenied


def shown(request: HttpRequest) -> dict[str, dict[str, bool]]:
    """For templates: ``{% if may.edit %}``; what somebody may not do is not offered."""
    actions = actions_of(getattr(request, "user", AnonymousUser()))  # none yet where a request failed early
    return {"may": {action.value: action in actions for action in Action}}
