"""Owns that an account that needs a second factor, and has none, opens no page but those that set one up.

Judged at each request, so that the setting and a new role count at once. Whoever logged in at a provider or an
authenticating proxy is not asked: these ask for their own.
"""

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils.deprecation import MiddlewareMixin

from archivebox.accounts.second_factor.authenticators import SecondFactors, is_required_of
from archivebox.config.conffile import ConfError
from archivebox.config.resolve import SettingError
from archivebox.web.auth.sessions import BACKEND, BY_PROVIDER
from archivebox.web.views import errors

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
        if name in _UNAFFECTED or settings.SESSION_COOKIE_NAME not in request.COOKIES:
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
