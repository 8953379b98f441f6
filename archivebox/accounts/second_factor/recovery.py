"""Owns recovery codes: ten, shown once, each for one log-in."""

import base64
import hashlib
import secrets

from django.contrib.auth.models import User

from archivebox.accounts.second_factor.rows import RecoveryCode

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
