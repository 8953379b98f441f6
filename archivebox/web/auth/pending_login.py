"""Owns a log-in between its first step and its second: one signed cookie, for five minutes, completed once.

There is no session yet, and nothing is stored until it is completed. It ends early when the password changes or the
account is disabled.
"""

import secrets
from dataclasses import asdict, dataclass
from typing import Self

from django.contrib.auth.models import User
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac

from archivebox.accounts.second_factor.challenges import LIFETIME, spend
from archivebox.web import settings

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
