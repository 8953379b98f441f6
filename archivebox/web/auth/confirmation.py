"""Owns that who changes how an account is opened has shown within ten minutes that it is theirs."""

import time
from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from archivebox.web.auth.page_access import SAFE

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
