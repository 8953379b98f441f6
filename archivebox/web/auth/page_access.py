"""Owns who may open which page: what each asks for, what answers without a log-in, what has to be confirmed first.

Who changes how an account is opened has shown within ten minutes that it is theirs.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django.utils.http import urlencode

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


def account_of(request: HttpRequest) -> User:
    """Who has logged in, for views that nobody else reaches."""
    return cast("User", request.user)


# --- confirming ----------------------------------------------------------------------------------------------------

LASTS = 600
"""Seconds that a log-in, a password or a second factor counts."""
_WHEN = "confirmed_at"


def confirm(request: HttpRequest, **_signal: object) -> None:
    """Note in the session that it was shown now; by a log-in, too."""
    request.session[_WHEN] = time.time()


def is_confirmed(request: HttpRequest) -> bool:
    confirmed_at: float = request.session.get(_WHEN, 0)
    return 0 <= time.time() - confirmed_at < LASTS


def confirmed(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Have a view ask for it first. What was to be posted is asked for again after that."""

    @wraps(view)
    def asking(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        return view(request, *args, **kwargs) if is_confirmed(request) else ask_to_confirm(request)

    return asking


def ask_to_confirm(request: HttpRequest, otherwise: str = "security") -> HttpResponse:
    """Lead to the page that asks, and from there back; after a POST to ``otherwise``."""
    onward = request.get_full_path() if request.method in SAFE else reverse(otherwise)
    return redirect(f"{reverse('confirm')}?{urlencode({'next': onward})}")


_HELD = "held"


def confirm_and_resume(request: HttpRequest, why: str) -> HttpResponse:
    """The same, saying ``why``; what was posted is in :func:`posted` when it leads back."""
    request.session[_HELD] = {"at": request.path, "posted": request.POST.urlencode(), "why": why}
    return redirect(f"{reverse('confirm')}?{urlencode({'next': request.path})}")


def why_confirm(request: HttpRequest, onward: str) -> str:
    held = request.session.get(_HELD, {})
    return str(held["why"]) if held.get("at") == onward else ""


def posted(request: HttpRequest) -> QueryDict:
    """What was posted to this page, now or before it asked to confirm; each once. Nothing at any other GET."""
    if request.method == "POST" or not (is_confirmed(request) and why_confirm(request, request.path)):
        return request.POST
    return QueryDict(request.session.pop(_HELD)["posted"])
