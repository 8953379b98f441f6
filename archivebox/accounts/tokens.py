"""Tokens: how programs act for an account, shown once and stored as a digest."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.utils import timezone

from archivebox.accounts.roles import Action, TokenScope, actions_of
from archivebox.base_models.revocable import Revocable

PREFIX = "abx_"
"""What every token begins with, so that people and scanners of leaked secrets know one when they see it."""
LIFETIME = timedelta(days=365)
USED_EVERY = timedelta(minutes=1)
"""How exact the moment of its last use is: a token that asks a hundred times a second writes once a minute."""
SCOPES = {scope.label: scope for scope in TokenScope}


class TokenQuerySet(models.QuerySet["Token"]):
    """Tokens, in the words people ask for them."""

    def valid(self) -> "TokenQuerySet":
        """Those that open something now; an account that is disabled takes its tokens with it."""
        unexpired = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
        return self.filter(unexpired, revoked_at__isnull=True, user__is_active=True)


class Token(Revocable):
    """One token of one account, good for its scopes until it expires or is revoked."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    label = models.CharField(max_length=100, help_text="what it is for")
    scopes = models.JSONField(default=list, help_text="names of scopes: feed, read, add, write, admin")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the token")
    hint = models.CharField(max_length=16, help_text="its first letters, by which its owner knows it")
    expires_at = models.DateTimeField(null=True, blank=True, help_text="empty: never")
    last_used_at = models.DateTimeField(null=True, blank=True)

    objects = TokenQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.label} ({self.hint}…)"

    @property
    def actions(self) -> frozenset[Action]:
        """What it may be used for: never more than its account may do."""
        granted: frozenset[Action] = frozenset().union(
            *(SCOPES[name].actions for name in self.scopes if name in SCOPES)
        )
        return granted & actions_of(self.user)

    def touch(self) -> None:
        """Note that it is being used."""
        now = timezone.now()
        if self.last_used_at is None or self.last_used_at + USED_EVERY <= now:
            Token.objects.filter(pk=self.pk).update(last_used_at=now)


def issue(user: User, label: str, scopes: Iterable[str], *, lifetime: timedelta | None = LIFETIME) -> tuple[Token, str]:
    """A new token and its text, which nobody can be told again. ValueError for a scope that does not exist."""
    wanted = sorted(set(scopes))
    if not wanted or not set(wanted) <= set(SCOPES):
        raise ValueError(f"A token needs one or more of the scopes {', '.join(SCOPES)}.")
    text = PREFIX + secrets.token_urlsafe(32)
    token = Token.objects.create(
        user=user,
        label=" ".join(label.split())[:100] or "token",
        scopes=wanted,
        digest=digest(text),
        hint=text[: len(PREFIX) + 4],
        expires_at=None if lifetime is None else timezone.now() + lifetime,
    )
    return token, text


def find(text: str) -> Token | None:
    """The token with this text, if it opens anything."""
    if not text.startswith(PREFIX):
        return None
    return Token.objects.valid().select_related("user__account").filter(digest=digest(text)).first()


def digest(text: str) -> str:
    """What is stored of a token: 256 random bits need no salt, and no slow hash."""
    return hashlib.sha256(text.encode()).hexdigest()
