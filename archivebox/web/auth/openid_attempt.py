"""Owns what ties a log-in at a provider to the browser in which it was begun: one cookie, for ten minutes.

The session's own cookie is ``SameSite=Strict``, and so does not come along from the provider; this one is ``Lax``.
"""

import secrets
from dataclasses import asdict, dataclass
from typing import Self

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac

from archivebox.accounts.openid.exchange import Secrets
from archivebox.web import settings

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
