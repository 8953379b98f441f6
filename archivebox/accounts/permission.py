"""Owns the one question of every entrance: may this user, or this token, do that, and which rows may it see."""

from django.contrib.auth.models import AnonymousUser, User

from archivebox.accounts.roles import Action, Role, actions_of, role_of
from archivebox.accounts.tokens import Token
from archivebox.base_models.users import SYSTEM
from archivebox.base_models.visibility import EVERYTHING, Sight, seen_by
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet

Who = User | AnonymousUser | Token


def may(who: Who, action: Action) -> bool:
    """Whether ``who`` may do ``action``; a token no more than its account and its scopes both allow."""
    return action in (who.actions if isinstance(who, Token) else actions_of(who))


def user_of(who: Who) -> User | AnonymousUser:
    """In whose name ``who`` acts."""
    return who.user if isinstance(who, Token) else who


def sight_of(who: Who) -> Sight:
    """How far ``who`` sees: what is private to others is for administrators, with a token only if it may administer.

    What is begun at the command line is done in the name of the system.
    """
    user = user_of(who)
    if may(who, Action.ADMINISTER) or user.get_username() == SYSTEM:
        return EVERYTHING
    return Sight() if role_of(user) is Role.PUBLIC else Sight(user.pk)


def visible_snapshots(who: Who) -> SnapshotQuerySet:
    """The Snapshots that ``who`` may know of: those seen that nobody removed, for those who may see the list."""
    rows: SnapshotQuerySet = seen_by(sight_of(who), Snapshot.objects.kept())
    return rows if may(who, Action.LIST) else rows.none()
