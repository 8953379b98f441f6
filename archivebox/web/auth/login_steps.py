"""Owns how a log-in goes on after its first step: to the second one, or to its end."""

from django.contrib.auth import login as start_session
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from archivebox.accounts.second_factor.authenticators import SecondFactors
from archivebox.web.auth import login_throttle
from archivebox.web.auth.factor_setup import lacks_required_factor
from archivebox.web.auth.pending_login import PendingLogin, forget
from archivebox.web.auth.sessions import BACKEND


def after_password(request: HttpRequest, user: User, onward: str) -> HttpResponse:
    """Ask for the second factor where the account has one; else somebody is in."""
    if not len(SecondFactors.of(user)):
        return complete(request, user, onward)
    answer = redirect("second-step")
    PendingLogin.begin(user, onward).keep(answer)
    return answer


def complete(request: HttpRequest, user: User, onward: str) -> HttpResponse:
    """Start the session; it leads first to where a second factor is set up, if the account needs one and has none."""
    start_session(request, user, backend=BACKEND)
    answer = redirect("security" if lacks_required_factor(request, user) else onward)
    login_throttle.remember(answer, user.get_username())
    forget(answer)
    return answer
