"""Owns who may try to log in now: strangers by account and by address, and browsers that have logged in by their own.

Somebody who guesses, from anywhere, must not lock out the person whose account it is. So a browser from which an
account was once entered keeps a signed cookie for it (OWASP's device cookie) and is counted apart from all strangers.
"""

import secrets
from dataclasses import dataclass

from django.contrib.auth.forms import UsernameField
from django.contrib.auth.models import User
from django.core import signing
from django.http import HttpRequest, HttpResponse

from archivebox.accounts import login_log
from archivebox.lib.networks import subscriber_of
from archivebox.machine.throttle import Throttle
from archivebox.web import settings

_COOKIE = f"{settings.COOKIE_PREFIX}archivebox_known"
_SALT = "archivebox.known"
_AGE = 365 * 24 * 3600

_accounts = Throttle("accounts")
_browsers = Throttle("browsers")
_addresses = Throttle("addresses", limit=30)
"""Behind a proxy that TRUSTED_PROXIES does not name, that is everybody's: so more is allowed."""
_factor_accounts = Throttle("factor_accounts", window=900)
"""At any time three codes of six digits are right: by 480 tries a day one is met in two years."""
_factor_browsers = Throttle("factor_browsers", window=900)
_factor_addresses = Throttle("factor_addresses", limit=30, window=900)


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """One try to log in, counted already; ``wait``: seconds until it may be made, 0: now."""

    wait: int
    counted: tuple[tuple[Throttle, str], ...]

    @property
    def limit_is_reached(self) -> bool:
        """Whether the next one like it has to wait."""
        return any(throttle.is_used_up(key) for throttle, key in self.counted)

    def succeeded(self) -> None:
        for throttle, key in self.counted:
            throttle.succeeded(key)


def by_password(request: HttpRequest, username: str) -> LoginAttempt:
    """Count a try at this account before its password is looked at."""
    account = account_name(username)[:150].casefold()
    browser = _known_browser(request, account)
    if browser:
        return _attempt((_browsers, browser))
    return _attempt((_addresses, _subscriber(request)), (_accounts, account))


def account_name(typed: str) -> str:
    """The name that the log-in's form looks up: spaces around it and full-width letters lead to the same account."""
    return UsernameField(max_length=150).to_python(typed) or ""


def own_password_problem(request: HttpRequest, user: User, given: str) -> tuple[str, int]:
    """Why this password does not show that it is ``user``, with the status of that answer; empty where it does."""
    attempt = by_password(request, user.get_username())
    if attempt.wait:
        return f"Too many attempts. Try again in {attempt.wait} seconds.", 429
    if not user.check_password(given):
        if attempt.limit_is_reached:
            login_log.log_failed_login(user.get_username())
        return "Incorrect password.", 403
    attempt.succeeded()
    return "", 200


def by_second_factor(request: HttpRequest, username: str) -> LoginAttempt:
    """Count a try at the second factor of this account, whose password was right, before it is looked at."""
    account = username.casefold()
    if browser := _known_browser(request, account):
        return _attempt((_factor_browsers, browser))
    return _attempt((_factor_addresses, _subscriber(request)), (_factor_accounts, account))


def by_passkey(request: HttpRequest) -> LoginAttempt:
    """Count a try of a passkey alone: whose it is becomes known only with it."""
    return _attempt((_factor_addresses, _subscriber(request)))


def by_link(request: HttpRequest) -> LoginAttempt:
    """Count a try of a link that logs in."""
    return _attempt((_addresses, _subscriber(request)))


def remember(answer: HttpResponse, username: str) -> None:
    """Have this browser known to the account from now on; it gives no right but to try."""
    value = signing.dumps([username.casefold(), secrets.token_urlsafe(12)], salt=_SALT)
    answer.set_cookie(_COOKIE, value, _AGE, secure=settings.BEHIND_HTTPS, httponly=True, samesite="Strict")


def _subscriber(request: HttpRequest) -> str:
    return subscriber_of(request.META.get("REMOTE_ADDR", ""))


def _attempt(*counted: tuple[Throttle, str]) -> LoginAttempt:
    """The first that has to wait ends it: whoever is stopped by his address does not use up the account's tries."""
    for throttle, key in counted:
        if wait := throttle.attempt(key):
            return LoginAttempt(wait, ())
    return LoginAttempt(0, counted)


def _known_browser(request: HttpRequest, account: str) -> str:
    """The name of a browser from which this account was entered before; empty for a stranger."""
    try:
        known, browser = signing.loads(request.COOKIES.get(_COOKIE, ""), salt=_SALT, max_age=_AGE)
    except (signing.BadSignature, ValueError):
        return ""
    return str(browser) if known == account else ""
