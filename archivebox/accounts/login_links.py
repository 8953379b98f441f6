"""Owns links that log somebody in once."""

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

from archivebox.base_models.transactions import write_transaction

LIFETIME = timedelta(hours=1)
"""How long a link can be used: long enough to walk over to a browser."""


class LoginLink(models.Model):
    """One such link, known by the digest of its token; deleted when it is used."""

    digest = models.CharField(max_length=64, primary_key=True, help_text="SHA-256 of the token")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="login_links")
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"link for {self.user}"


def make_login_token(user_id: int, lifetime: timedelta = LIFETIME) -> str:
    """A secret that logs this account in once within ``lifetime``; any web server of the collection accepts it."""
    token = secrets.token_urlsafe(32)
    with write_transaction():
        LoginLink.objects.filter(expires_at__lte=timezone.now()).delete()
        LoginLink.objects.create(digest=_digest(token), user_id=user_id, expires_at=timezone.now() + lifetime)
    return token


def peek_login_link(token: str) -> int | None:
    """Whom ``token`` would log in; None if it is unknown, used or expired."""
    found: int | None = _valid(token).values_list("user_id", flat=True).first()
    return found


def redeem_login_link(token: str) -> int | None:
    """Use ``token`` up and say whom it logs in; of two who try at once only one deletes its row."""
    user_id = peek_login_link(token)
    deleted, _ = _valid(token).delete()
    return user_id if deleted else None


def _valid(token: str) -> models.QuerySet[LoginLink]:
    return LoginLink.objects.filter(digest=_digest(token), expires_at__gt=timezone.now())


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
