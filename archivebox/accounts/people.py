"""Looking after accounts: inviting people, their roles, letting them in and out."""

from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import IntegrityError

from archivebox.accounts import audit
from archivebox.accounts.login_links import make_login_token
from archivebox.accounts.roles import Account, Role, role_of
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.users import SYSTEM
from archivebox.core.intake import schedules

ROLES = (Role.ADMIN, Role.EDITOR, Role.VIEWER)
"""Roles that an account may be given."""


class PeopleError(ValueError):
    """What was asked for cannot be done; the message says why, and what to do."""


def invite(by: User, username: str, role: Role) -> User:
    """A new account; :func:`invitation` is how its owner comes in. PeopleError."""
    name = username.strip()
    try:
        return make(by, name, role, "user.invited")
    except IntegrityError:
        raise PeopleError(f"An account named {name} already exists.") from None


def make(by: User | None, name: str, role: Role, action: str, **detail: str) -> User:
    """A new account without a password. PeopleError; IntegrityError where there is one of this name."""
    try:
        UnicodeUsernameValidator()(name)
    except ValidationError:
        raise PeopleError("A name has 1 to 150 letters, digits or any of @ . + - _.") from None
    if len(name) > 150:
        raise PeopleError("A name has 1 to 150 letters.")
    if name.lower() == SYSTEM:
        raise PeopleError(f"The name {name} is that of the command line. Take another one.")
    with write_transaction():
        user = User.objects.create_user(name)
        _apply_role(user, role)
        audit.record(by, action, user, username=name, role=role.value, **detail)
    return user


def invitation(user: User) -> str:
    """The secret of a link that logs this account in once, within an hour, and lets it choose a password."""
    return make_login_token(user.pk)


def set_role(by: User | None, user: User, role: Role) -> None:
    """Make ``user`` an admin, editor or viewer. PeopleError where no administrator would be left."""
    with write_transaction():
        if role is not Role.ADMIN:
            _keep_an_admin(user)
        before = role_of(user)
        _apply_role(user, role)
        audit.record(by, "user.role", user, username=user.username, before=before.value, after=role.value)


def disable(by: User, user: User) -> None:
    """Let ``user`` in no more: sessions and tokens end at once, schedules rest.

    PeopleError where no administrator would be left.
    """
    with write_transaction():
        _keep_an_admin(user)
        _set_active(user, is_active=False)
        schedules.pause_all_of(user)
        audit.record(by, "user.disabled", user, username=user.username)


def enable(by: User, user: User) -> None:
    with write_transaction():
        _set_active(user, is_active=True)
        audit.record(by, "user.enabled", user, username=user.username)


def _apply_role(user: User, role: Role) -> None:
    user.is_superuser = user.is_staff = role is Role.ADMIN
    user.save(update_fields=["is_superuser", "is_staff"])
    if role is not Role.ADMIN:
        user.account, _ = Account.objects.update_or_create(user=user, defaults={"role": role.value})


def _set_active(user: User, *, is_active: bool) -> None:
    user.is_active = is_active
    user.save(update_fields=["is_active"])


def _keep_an_admin(user: User) -> None:
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk).exclude(username=SYSTEM)
    if user.is_superuser and not others.exists():
        raise PeopleError("You are the only administrator. Make another account an admin first.")
