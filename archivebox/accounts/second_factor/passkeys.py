"""Owns passkeys of accounts: making one, and logging in by one."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.crypto import salted_hmac

from archivebox.accounts import audit
from archivebox.accounts.second_factor.rows import Passkey
from archivebox.base_models.transactions import write_transaction

if TYPE_CHECKING:
    from archivebox.accounts.second_factor.ceremony import Ceremony

LONGEST_ANSWER = 20_000
"""Characters that an authenticator answers; without an attestation they are about 1,500."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """For whom passkeys are made: a host name, and the one origin of the pages that ask for them."""

    host: str
    origin: str

    def ceremony(self) -> "Ceremony":
        from archivebox.accounts.second_factor.ceremony import Ceremony  # fido2 takes 80 ms of a start that needs none

        return Ceremony(self.host, self.origin)


class PasskeyError(ValueError):
    """No passkey was made; the message says why, and what to do."""


def creation_options(party: RelyingParty, user: User, challenge: bytes) -> str:
    """What a browser is asked to make, as JSON."""
    who = _handle(user), user.get_username()
    return party.ceremony().creation_options(who, _known(party, user), challenge)


def new_passkey(party: RelyingParty, user: User, label: str, challenge: bytes, answer: str) -> Passkey:
    """The passkey that a browser has made, not saved yet. PasskeyError."""
    try:
        key = party.ceremony().register(challenge, answer[:LONGEST_ANSWER])
    except ValueError as error:
        log.warning("Passkey refused: %s action=passkey_refused", error)
        raise PasskeyError("The passkey was not accepted. Try again.") from None
    return Passkey(
        user=user,
        label=label,
        credential_id=key.credential_id,
        public_key=key.public_key,
        host=party.host,
        sign_count=key.sign_count,
    )


def is_stored(passkey: Passkey) -> bool:
    """Whether it was added before."""
    return Passkey.objects.filter(credential_id=passkey.credential_id).exists()


def request_options(party: RelyingParty, challenge: bytes, user: User | None = None) -> str:
    """What a browser is asked to sign, as JSON. ``user``: who has given a password; None: whoever has a passkey."""
    known = [] if user is None else _known(party, user)
    return party.ceremony().request_options(known, challenge, is_alone=user is None)


def accept_passkey(party: RelyingParty, challenge: bytes, answer: str, user: User | None = None) -> User | None:
    """Whose passkey has signed the challenge; None for nobody's, or that of another one than ``user``.

    Without ``user`` the device must have asked for a finger, a face or a PIN: the passkey is all that is asked.
    """
    keys = Passkey.objects.select_related("user").filter(host=party.host, user__is_active=True)
    passkey = keys.filter(credential_id=_credential_id_in(answer)).first()
    if passkey is None or (user is not None and passkey.user != user):
        return None
    try:
        count = party.ceremony().verify(challenge, passkey.public_key, answer, is_alone=user is None)
    except ValueError as error:
        log.warning("Passkey %s refused: %s action=passkey_refused", passkey.pk, error)
        return None
    return passkey.user if _is_next(passkey, count) else None


def works_at(party: RelyingParty | None, user: User) -> bool:
    """Whether the account has a passkey for these pages."""
    return party is not None and bool(_known(party, user))


def _is_next(passkey: Passkey, count: int) -> bool:
    """Note the count of signatures, by one guarded update; one that does not rise is that of a copy.

    WebAuthn, section 6.1.1. What does not count says 0 each time: passkeys that are kept in an account do.
    """
    rows = Passkey.objects.filter(pk=passkey.pk)
    expected = rows.filter(sign_count__lt=count) if count else rows.filter(sign_count=0)
    if expected.update(sign_count=count, last_used_at=timezone.now()):
        return True
    log.warning("Passkey %s refused: its counter is at %s action=passkey_refused", passkey.pk, count)
    reason = f"The counter of the passkey {passkey.label} did not increase: the passkey may have been copied."
    with write_transaction():
        audit.record(None, "login.refused", passkey.user, username=passkey.user.get_username(), reason=reason)
    return False


def _known(party: RelyingParty, user: User) -> Sequence[str]:
    return list(Passkey.objects.filter(user=user, host=party.host).values_list("credential_id", flat=True))


def _credential_id_in(answer: str) -> str:
    """Which passkey an answer claims to be of; empty for what is no answer."""
    try:
        read = json.loads(answer[:LONGEST_ANSWER])
    except (ValueError, RecursionError):
        return ""
    found = read.get("id") if isinstance(read, dict) else ""
    return found if isinstance(found, str) and "\0" not in found else ""


def _handle(user: User) -> bytes:
    """Who it is to the authenticator: one more for another collection under the same host, and no name."""
    return salted_hmac("archivebox.passkey", str(user.pk), algorithm="sha256").digest()
