"""Owns the second step of a log-in, and the log-in by a passkey alone."""

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from archivebox.accounts import login_log
from archivebox.accounts.openid.provider_settings import takes_passwords
from archivebox.accounts.second_factor.passkeys import accept_passkey, request_options
from archivebox.web.auth import login_throttle
from archivebox.web.auth.factor_forms import answer_in, factor_forms, relying_party, why_no_passkeys
from archivebox.web.auth.login_steps import PendingLogin, complete
from archivebox.web.page.redirects import back_to
from archivebox.web.views.login import login_page

_EXPIRED = "This log-in has expired. Try again."


@login_not_required
@sensitive_post_parameters()
def second_step(request: HttpRequest) -> HttpResponse:
    """Asks who has given a password for something else."""
    pending = PendingLogin.of(request)
    user = pending.user() if pending else None
    if pending is None or user is None:
        return login_page(request, problem=_EXPIRED, status=403)
    if request.method != "POST":
        return _page(request, pending, user)
    attempt = login_throttle.by_second_factor(request, user.get_username())
    if attempt.wait:
        return _wait(_page(request, pending, user, problem=_too_many(attempt), status=429), attempt)
    if not answer_in(request).accept(user, relying_party(request), pending.challenge):
        if attempt.limit_is_reached:
            login_log.log_failed_factor(user)
        return _page(request, pending, user, problem="Wrong, or used before. Try again.", status=403)
    attempt.succeeded()
    return _completed(request, pending, user)


@require_safe
@login_not_required
def passkey_options(request: HttpRequest) -> HttpResponse:
    """What a browser is asked to sign by a passkey alone."""
    party = relying_party(request)
    if party is None or not takes_passwords():
        raise Http404(why_no_passkeys(request) or "passkeys are turned off")
    pending = PendingLogin.begin(None, back_to(request, "snapshots"))
    answer = HttpResponse(request_options(party, pending.challenge), content_type="application/json")
    pending.keep(answer)
    return answer


@require_POST
@login_not_required
def passkey(request: HttpRequest) -> HttpResponse:
    """Logs in whose passkey has signed."""
    party, pending = relying_party(request), PendingLogin.of(request)
    if party is None or not takes_passwords():
        return login_page(request, problem=why_no_passkeys(request) or "Passkey login is disabled.", status=403)
    if pending is None:
        return login_page(request, problem=_EXPIRED, status=403)
    attempt = login_throttle.by_passkey(request)
    if attempt.wait:
        return _wait(login_page(request, problem=_too_many(attempt), status=429), attempt)
    user = accept_passkey(party, pending.challenge, answer_in(request).passkey)
    if user is None:
        return login_page(request, problem="That passkey is not known here. Log in with your password.", status=403)
    attempt.succeeded()
    return _completed(request, pending, user)


def _completed(request: HttpRequest, pending: PendingLogin, user: User) -> HttpResponse:
    """Of two requests at once the second comes too late."""
    if not pending.spend():
        return login_page(request, problem=_EXPIRED, status=403)
    return complete(request, user, pending.onward)


def _page(
    request: HttpRequest, pending: PendingLogin, user: User, *, problem: str = "", status: int = 200
) -> HttpResponse:
    context = {"problem": problem, "factors": factor_forms(request, user, pending.challenge)}
    return render(request, "web/second_factor/second_step.html", context, status=status)


def _too_many(attempt: login_throttle.LoginAttempt) -> str:
    return f"Too many attempts. Try again in {attempt.wait} seconds."


def _wait(answer: HttpResponse, attempt: login_throttle.LoginAttempt) -> HttpResponse:
    answer["Retry-After"] = str(attempt.wait)
    return answer
