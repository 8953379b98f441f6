"""Owns which second factors an account has, and changing that: each change is on record."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import connection

from archivebox.accounts import audit
from archivebox.accounts.roles import Role, role_of
from archivebox.accounts.second_factor import apps, passkeys
from archivebox.accounts.second_factor.rows import Authenticator, AuthenticatorApp, Passkey, RecoveryCode, renew_codes
from archivebox.base_models.transactions import write_transaction
from archivebox.config.early import early_settings
from archivebox.config.settings import DATA_FOLDER


class SecondFactorError(ValueError):
    """What was asked for cannot be done; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class SecondFactors:
    """What an account has beside its password."""

    apps: list[AuthenticatorApp]
    passkeys: list[Passkey]
    codes_left: int

    @classmethod
    def of(cls, user: User) -> "SecondFactors":
        codes = RecoveryCode.objects.filter(user=user).count()
        return cls(list(AuthenticatorApp.objects.filter(user=user)), list(Passkey.objects.filter(user=user)), codes)

    def __len__(self) -> int:
        """Recovery codes alone are none: they stand in for one that was lost."""
        return len(self.apps) + len(self.passkeys)


def accounts_with_factors(users: Iterable[int]) -> set[int]:
    """Which of these accounts have a second factor, by their keys."""
    keys = list(users)
    rows = (AuthenticatorApp.objects, Passkey.objects)
    return {key for found in rows for key in found.filter(user__in=keys).values_list("user_id", flat=True)}


def is_required_of(user: User) -> bool:
    """Whether REQUIRE_TWO_FACTOR says that this account needs a second factor."""
    wanted = early_settings(DATA_FOLDER).get_text("REQUIRE_TWO_FACTOR")
    return wanted == "everybody" or (wanted == "administrators" and role_of(user) is Role.ADMIN)


def add(user: User, factor: AuthenticatorApp | Passkey) -> list[str]:
    """Save it. Returns the recovery codes that come with the first factor, to be shown once.

    SecondFactorError where it was added before.
    """
    with write_transaction():
        _hold(user)
        if _is_stored(factor):
            raise SecondFactorError("It has been added already.")
        factor.save(force_insert=True)
        audit.record(user, "user.factor_added", user, factor=_kind(factor), label=factor.label)
        return [] if RecoveryCode.objects.filter(user=user).exists() else renew_codes(user)


def rename(user: User, factor: Authenticator, label: str) -> None:
    before, factor.label = factor.label, label
    with write_transaction():
        factor.save(update_fields=["label", "modified_at"])
        audit.record(user, "user.factor_renamed", user, factor=_kind(factor), before=before, after=label)


def remove(user: User, factor: Authenticator) -> None:
    """Delete it; with the last one go the recovery codes. SecondFactorError where the account needs one."""
    with write_transaction():
        _hold(user)
        factor.delete()
        is_last = not len(SecondFactors.of(user))
        if is_last and is_required_of(user):
            raise SecondFactorError("Your account needs a second factor. Add another one first.")
        if is_last:
            RecoveryCode.objects.filter(user=user).delete()
        audit.record(user, "user.factor_removed", user, factor=_kind(factor), label=factor.label)


def make_recovery_codes(user: User) -> list[str]:
    """New ones, to be shown once; those before are void. SecondFactorError where there is nothing to recover from."""
    with write_transaction():
        _hold(user)
        if not len(SecondFactors.of(user)):
            raise SecondFactorError("Add an authenticator app or a passkey first.")
        audit.record(user, "user.recovery_codes", user)
        return renew_codes(user)


def reset(by: User | None, user: User) -> int:
    """Have the password alone open the account again, for who has lost everything else. How many factors went."""
    with write_transaction():
        _hold(user)
        factors = SecondFactors.of(user)
        for rows in (AuthenticatorApp.objects, Passkey.objects, RecoveryCode.objects):
            rows.filter(user=user).delete()
        audit.record(by, "user.factors_reset", user, username=user.get_username(), factors=len(factors))
    return len(factors)


def _hold(user: User) -> None:
    """Have other changes of this account's factors wait until the transaction ends. SQLite has one writer anyway."""
    if connection.features.has_select_for_update:
        list(User.objects.filter(pk=user.pk).select_for_update(no_key=True).values_list("pk"))


def _is_stored(factor: AuthenticatorApp | Passkey) -> bool:
    return apps.is_stored(factor) if isinstance(factor, AuthenticatorApp) else passkeys.is_stored(factor)


def _kind(factor: Authenticator) -> str:
    return "app" if isinstance(factor, AuthenticatorApp) else "passkey"
