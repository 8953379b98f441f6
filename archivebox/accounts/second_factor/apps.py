"""Owns the codes of authenticator apps: six digits for 30 seconds, each accepted once (RFC 6238, section 5.2)."""

import base64
import logging
from datetime import datetime

import pyotp
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.crypto import salted_hmac
from pyotp.exceptions import OTPVerificationError

from archivebox.accounts.second_factor.rows import AuthenticatorApp

DRIFT = 1
"""Steps that the clock of a phone may be ahead or behind (RFC 6238, section 6)."""
SETUP_TIME = 1800
"""Seconds between showing a secret and the first code of an app that knows it."""

log = logging.getLogger(__name__)


def new_secret() -> str:
    """160 random bits, as apps take them (RFC 4226, section 4)."""
    return pyotp.random_base32()


def provisioning_address(secret: str, user: User, host: str) -> str:
    """What the QR code says: ``otpauth://totp/…``. ``host``: a name without a port, as apps take no colon there."""
    return pyotp.TOTP(secret).provisioning_uri(name=user.get_username(), issuer_name=f"ArchiveBox {host}")


def seal(secret: str, user: User) -> str:
    """The secret as a form may carry it until the first code: of use to nobody else, and not for long."""
    return _cipher().encrypt(f"{user.pk}:{secret}".encode()).decode()


def unseal(sealed: str, user: User) -> str | None:
    """The secret that was sealed for ``user``; None if it is another's, or too old."""
    try:
        owner, _, secret = _cipher().decrypt(sealed.encode(), SETUP_TIME).decode().partition(":")
    except (InvalidToken, UnicodeEncodeError):
        return None
    return secret if owner == str(user.pk) else None


def new_app(user: User, label: str, secret: str, code: str) -> AuthenticatorApp | None:
    """An app that has just shown ``code``, not saved yet; None for a code that is not its own."""
    step = _step_of(secret, code, timezone.now())
    if step is None:
        return None
    return AuthenticatorApp(user=user, label=label, secret=_cipher().encrypt(secret.encode()).decode(), last_step=step)


def is_stored(app: AuthenticatorApp) -> bool:
    """Whether the account has an app with this secret already: each of the two would accept the same code."""
    secret = _secret_of(app)
    return any(_secret_of(other) == secret for other in AuthenticatorApp.objects.filter(user=app.user))


def accept_code(user: User, code: str, moment: datetime | None = None) -> bool:
    """Whether one of the user's apps shows ``code``, and it was not accepted before: one guarded update says so."""
    now = moment or timezone.now()
    for app in AuthenticatorApp.objects.filter(user=user):
        step = _step_of(_secret_of(app), code, now)
        if step is not None:
            unused = AuthenticatorApp.objects.filter(pk=app.pk, last_step__lt=step)
            if unused.update(last_step=step, last_used_at=now):
                return True
    return False


def _secret_of(app: AuthenticatorApp) -> str:
    """Empty where the key is another one than when it was stored: the file was lost, or SECRET_KEY was changed."""
    try:
        return _cipher().decrypt(app.secret.encode()).decode()
    except InvalidToken:
        log.warning("Authenticator app %s is unreadable: the secret key was changed action=app_unreadable", app.pk)
        return ""


def _step_of(secret: str, code: str, moment: datetime) -> int | None:
    """The time step whose code it is."""
    digits = "".join(code.split())
    if not secret or not (digits.isascii() and digits.isdigit()):
        return None
    try:
        return pyotp.TOTP(secret).verify_and_get_timecode(digits, for_time=moment, valid_window=DRIFT)
    except OTPVerificationError:
        return None


def _cipher() -> Fernet:
    """With a key derived from the collection's secret key, which is in a file or the environment."""
    key = salted_hmac("archivebox.authenticator_app", "key", secret=settings.SECRET_KEY, algorithm="sha256")
    return Fernet(base64.urlsafe_b64encode(key.digest()))
