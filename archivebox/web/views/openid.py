"""Owns how people come in by an OpenID Connect provider, and how they connect an account that they have.

One cookie ties a log-in there to the browser in which it was begun, for ten minutes. The session's own cookie is
``SameSite=Strict``, and so does not come along from the provider; this one is ``Lax``.
"""

import secrets
from dataclasses import asdict, dataclass
from typing import Self

from django.contrib import messages
from django.contrib.auth import login as start_session
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac
from django.views.decorators.http import require_POST, require_safe

from archivebox.accounts.openid import admission
from archivebox.accounts.openid.provider_settings import (
    OpenIDError,
    OpenIDSettings,
    Secrets,
    openid_settings,
    provider_for,
)
from archivebox.accounts.roles import Action
from archivebox.web import settings
from archivebox.web.auth import login_throttle
from archivebox.web.auth.page_access import account_of, confirmed, requires
from archivebox.web.auth.sessions import BACKEND, BY_PROVIDER
from archivebox.web.page.redirects import back_to, public_address
from archivebox.web.views.login import login_page

_COOKIE = f"{settings.COOKIE_PREFIX}archivebox_openid"
_SALT = "archivebox.openid"
_AGE = 600
"""Seconds for a password, a second factor, and the provider's questions."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A log-in that was begun. ``onward``: where it leads; ``connects``: the account that is connected, 0 for none."""

    seed: str
    onward: str
    connects: int

    @classmethod
    def begin(cls, onward: str, connects: int = 0) -> Self:
        return cls(secrets.token_urlsafe(32), onward, connects)

    @classmethod
    def of(cls, request: HttpRequest) -> Self | None:
        """The one that this very browser began, if what came back belongs to it."""
        try:
            attempt = cls(**signing.loads(request.COOKIES.get(_COOKIE, ""), salt=_SALT, max_age=_AGE))
        except (signing.BadSignature, TypeError):
            return None
        return attempt if constant_time_compare(request.GET.get("state", ""), attempt.secrets.state) else None

    @property
    def secrets(self) -> Secrets:
        """Derived, so that the cookie has none of them."""
        return Secrets(self._derived("state"), self._derived("nonce"), self._derived("verifier"))

    def keep(self, answer: HttpResponse) -> None:
        value = signing.dumps(asdict(self), salt=_SALT)
        answer.set_cookie(_COOKIE, value, _AGE, secure=settings.BEHIND_HTTPS, httponly=True, samesite="Lax")

    def _derived(self, purpose: str) -> str:
        return salted_hmac(f"{_SALT}.{purpose}", self.seed, algorithm="sha256").hexdigest()


def forget(answer: HttpResponse) -> HttpResponse:
    """What came back once does not come back again."""
    answer.delete_cookie(_COOKIE, samesite="Lax")
    return answer


_REFUSED = {
    "access_denied": "{} denied access, or you cancelled. Try to log in again.",
    "login_required": "Log in to {} first, then try again.",
    "temporarily_unavailable": "{} is busy. Try again in a minute.",
    "server_error": "{} is unavailable. Try again in a minute.",
}
"""What a provider may answer (RFC 6749, section 4.1.2.1; OpenID Connect Core 1.0, section 3.1.2.6)."""


@require_safe
@login_not_required
def begin(request: HttpRequest) -> HttpResponse:
    """Go to the provider, and come back to ``next``."""
    attempt = Attempt.begin(back_to(request, "snapshots"))
    try:
        answer = redirect(_ask(request, attempt))
    except OpenIDError as problem:
        return login_page(request, problem=str(problem), status=problem.status)
    attempt.keep(answer)
    return answer


@require_POST
@requires(Action.OWN, to_change=Action.OWN)
@confirmed
def connect(request: HttpRequest) -> HttpResponse:
    """Go there so that the account here is opened by the one there from now on."""
    attempt = Attempt.begin(resolve_url("password"), connects=account_of(request).pk)
    try:
        address = _ask(request, attempt)
    except OpenIDError as problem:
        return login_page(request, problem=str(problem), status=problem.status)
    answer = _onward(request, address, f"Continue to {_provider().name}")
    attempt.keep(answer)
    return answer


@require_POST
@requires(Action.OWN, to_change=Action.OWN)
def disconnect(request: HttpRequest) -> HttpResponse:
    """The account there opens the one here no more."""
    provider = _provider()
    try:
        admission.disconnect(provider, account_of(request))
        messages.success(request, f"Disconnected from {provider.name}.")
    except OpenIDError as problem:
        messages.error(request, str(problem))
    return redirect("password")


@require_safe
@login_not_required
def back(request: HttpRequest) -> HttpResponse:
    """Where the provider sends people back to."""
    provider, attempt = _provider(), Attempt.of(request)
    if attempt is None:
        sentence = "This log-in was started in another browser or has expired. Try again."
        return login_page(request, problem=sentence, status=403)
    try:
        return forget(_entered(request, provider, attempt))
    except OpenIDError as problem:
        return forget(login_page(request, problem=str(problem), status=problem.status))


def _entered(request: HttpRequest, provider: OpenIDSettings, attempt: Attempt) -> HttpResponse:
    """Who came back is in. The page goes on by itself: a redirect from elsewhere would not bring the session along."""
    if error := request.GET.get("error", ""):
        raise OpenIDError(_REFUSED.get(error, "{} did not log you in. Try again.").format(provider.name))
    counted = _counted(request)
    claims = provider_for(provider, _come_back(request)).claims(
        request.GET.get("code", ""), attempt.secrets, request.GET.get("iss", "")
    )
    if attempt.connects:
        user = User.objects.filter(pk=attempt.connects, is_active=True).first()
        if user is None:
            raise OpenIDError("Your account here is disabled. Ask an administrator of this archive.")
        admission.connect(provider, claims, user)
    else:
        user = admission.admit(provider, claims)
    counted.succeeded()
    start_session(request, user, backend=BACKEND)
    request.session[BY_PROVIDER] = True
    return _onward(request, attempt.onward, "Logged in")


def _ask(request: HttpRequest, attempt: Attempt) -> str:
    provider, counted = _provider(), _counted(request)
    address = provider_for(provider, _come_back(request)).address(attempt.secrets)
    counted.succeeded()
    return address


def _counted(request: HttpRequest) -> login_throttle.LoginAttempt:
    """OpenIDError where this address has failed too often: each try has a thread wait for the provider."""
    attempt = login_throttle.by_link(request)
    if attempt.wait:
        raise OpenIDError(f"Too many attempts. Try again in {attempt.wait} seconds.", 429)
    return attempt


def _provider() -> OpenIDSettings:
    provider = openid_settings()
    if provider is None:
        raise Http404("no provider is set")
    return provider


def _come_back(request: HttpRequest) -> str:
    return public_address(request) + reverse("openid-back")


def _onward(request: HttpRequest, address: str, title: str) -> HttpResponse:
    return render(request, "web/onward.html", {"address": address, "title": title})
