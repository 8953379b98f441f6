"""Owns the rows of second factors, recovery codes and spent challenges among them.

None of them holds anything that opens an account to who reads the database.
"""

import base64
import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

from archivebox.base_models.rows import Row, first_id
from archivebox.base_models.transactions import write_transaction


class Authenticator(Row):
    """Something that its owner has, under the name that its owner gave it."""

    label = models.CharField(max_length=100, help_text="by which its owner knows it")
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True
        ordering = ["id"]

    def __str__(self) -> str:
        return self.label


class AuthenticatorApp(Authenticator):
    """An app that shows a code of six digits for 30 seconds (RFC 6238)."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="authenticator_apps")
    secret = models.TextField(help_text="what the app knows, encrypted with a key that is not in the database")
    last_step = models.BigIntegerField(default=0, help_text="time step of the latest code that was accepted")


class Passkey(Authenticator):
    """A key pair of a phone, a computer or a security key (WebAuthn); here is its public half."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="passkeys")
    credential_id = models.TextField(unique=True, help_text="base64url, as browsers say it")
    public_key = models.TextField(help_text="attested credential data (WebAuthn, section 6.5.1), base64url")
    host = models.CharField(max_length=253, help_text="under which it works: the relying party ID")
    sign_count = models.BigIntegerField(default=0, help_text="signatures that it has counted; 0: it counts none")


class RecoveryCode(Row):
    """One code for who has lost everything else; the row goes when it is used."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the code: 80 random bits need no slow hash")

    def __str__(self) -> str:
        return f"recovery code of {self.user}"


class SpentChallenge(Row):
    """A log-in in two steps that was completed, so that it is completed only once."""

    digest = models.CharField(max_length=64, unique=True)

    def __str__(self) -> str:
        return self.digest


COUNT = 10
_BYTES = 10


def renew_codes(user: User) -> list[str]:
    """Ten new codes in place of those before. Call it in a write transaction."""
    codes = [base64.b32encode(secrets.token_bytes(_BYTES)).decode().lower() for _ in range(COUNT)]
    RecoveryCode.objects.filter(user=user).delete()
    RecoveryCode.objects.bulk_create(RecoveryCode(user=user, digest=_digest(code)) for code in codes)
    return ["-".join(code[begin : begin + 4] for begin in range(0, len(code), 4)) for code in codes]


def accept_recovery_code(user: User, text: str) -> bool:
    """Whether it is one of the user's; it is none any more. Of two who try at once one deletes the row."""
    code = "".join(text.lower().replace("-", " ").split())
    deleted, _ = RecoveryCode.objects.filter(user=user, digest=_digest(code)).delete()
    return bool(deleted)


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()


LIFETIME = 300
"""Seconds from the password to the second factor."""


def spend(seed: str) -> bool:
    """Whether nobody has spent it before. A seed expires by itself, so that rows need to stay no longer than that."""
    digest = hashlib.sha256(seed.encode()).hexdigest()
    with write_transaction():
        expired = first_id(timezone.now() - 2 * timedelta(seconds=LIFETIME))
        SpentChallenge.objects.filter(pk__lt=expired).delete()
        _, is_first = SpentChallenge.objects.get_or_create(digest=digest)
    return is_first
