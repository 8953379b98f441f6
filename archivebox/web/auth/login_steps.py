"""Owns what follows a log-in's first step: its second one, and setting up a factor that is required.

Between the two steps there is no session yet, and nothing is stored: one signed cookie lasts for five minutes, and is
completed once. It ends early when the password changes or the account is disabled. Whether an account needs a factor
that it has not is judged at each request, so that the setting and a new role count at once. Whoever logged in at a
provider or an authenticating proxy is not asked: these ask for their own.
"""

import secrets
from dataclasses import asdict, dataclass
from typing import Self

from django.conf import settings as django_settings
from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.auth import login as start_session
from django.contrib.auth.models import User
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.deprecation import MiddlewareMixin

from archivebox.accounts.second_factor.authenticators import SecondFactors, is_required_of
from archivebox.accounts.second_factor.rows import LIFETIME, spend
from archivebox.config.conffile import ConfError
from archivebox.config.resolve import SettingError
from archivebox.web import settings
from archivebox.web.auth import login_throttle
from archivebox.web.auth.sessions import BACKEND, BY_PROVIDER
from archivebox.web.views import errors

_COOKIE = f"{settings.COOKIE_PREFIX}archivebox_pending"
_SALT = "archivebox.pending"


@dataclass(frozen=True, slots=True)
class PendingLogin:
    """``user_id``: who gave a password; 0 where a passkey is to say who it is. ``onward``: where it leads."""

    user_id: int
    proof: str
    onward: str
    seed: str

    @classmethod
    def begin(cls, user: User | None, onward: str) -> Self:
        seed = secrets.token_urlsafe(32)
        return cls(user.pk, _proof_of(user, seed), onward, seed) if user else cls(0, "", onward, seed)

    @classmethod
    def of(cls, request: HttpRequest) -> Self | None:
        """The one that this very browser has begun, if it did so not too long ago."""
        try:
            return cls(**signing.loads(request.COOKIES.get(_COOKIE, ""), salt=_SALT, max_age=LIFETIME))
        except (signing.BadSignature, TypeError):
            return None

    @property
    def challenge(self) -> bytes:
        """What a passkey signs; derived, so that the cookie does not have it."""
        return salted_hmac(f"{_SALT}.challenge", self.seed, algorithm="sha256").digest()

    def user(self) -> User | None:
        """Who gave the password, while that is still right."""
        user = User.objects.filter(pk=self.user_id, is_active=True).first() if self.user_id else None
        is_right = user is not None and constant_time_compare(self.proof, _proof_of(user, self.seed))
        return user if is_right else None

    def spend(self) -> bool:
        """Complete it. Of two requests that do so at once one hears that it was the first."""
        return spend(self.seed)

    def keep(self, answer: HttpResponse) -> None:
        value = signing.dumps(asdict(self), salt=_SALT)
        answer.set_cookie(_COOKIE, value, LIFETIME, secure=settings.BEHIND_HTTPS, httponly=True, samesite="Strict")


def forget(answer: HttpResponse) -> None:
    """It is completed."""
    answer.delete_cookie(_COOKIE, samesite="Strict")


def _proof_of(user: User, seed: str) -> str:
    """Another one with another password."""
    return salted_hmac(f"{_SALT}.proof", f"{seed}{user.get_session_auth_hash()}", algorithm="sha256").hexdigest()


# --- a factor that is required -------------------------------------------------------------------------------------

_RESULT = "archivebox_must_set_up_factor"
_UNAFFECTED = frozenset({"static", "favicon", "health", "ready", "logout", "look"})
_SETUP_PAGES = frozenset({"security", "security-app", "security-passkey", "confirm", "password", "login"})
"""Pages that such a session opens, by their names."""


def lacks_required_factor(request: HttpRequest, user: User) -> bool:
    """Whether this session is for nothing but setting up a second factor. ConfError, SettingError."""
    logged_in_here = request.session.get(BACKEND_SESSION_KEY) == BACKEND and not request.session.get(BY_PROVIDER)
    return logged_in_here and is_required_of(user) and not len(SecondFactors.of(user))


def must_set_up(request: HttpRequest) -> bool:
    """What the middleware found, for templates."""
    return getattr(request, _RESULT, False)


class FactorSetup(MiddlewareMixin):
    """Leads pages to the one that sets it up, and refuses what is no page."""

    def process_view(self, request: HttpRequest, view: object, args: object, kwargs: object) -> HttpResponseBase | None:
        del view, args, kwargs
        name = request.resolver_match.view_name if request.resolver_match else ""
        if name in _UNAFFECTED or django_settings.SESSION_COOKIE_NAME not in request.COOKIES:
            return None
        try:
            is_lacking = isinstance(request.user, User) and lacks_required_factor(request, request.user)
        except (ConfError, SettingError) as error:
            return errors.misconfigured(request, error)
        setattr(request, _RESULT, is_lacking)
        if not is_lacking or name in _SETUP_PAGES:
            return None
        if "text/html" in request.headers.get("Accept", ""):
            return redirect("security")
        raise PermissionDenied


# --- from the first step onward ------------------------------------------------------------------------------------


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
