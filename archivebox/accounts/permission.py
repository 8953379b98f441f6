"""Owns the one question of every entrance: may this user, or this token, do that, and which rows may it see."""

from django.contrib.auth.models import AnonymousUser, User

from archivebox.accounts.roles import Action, actions_of
from archivebox.accounts.tokens import Token
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet

Who = User | AnonymousUser | Token


def may(who: Who, action: Action) -> bool:
    """Whether ``who`` may do ``action``; a token no more than its account and its scopes both allow."""
    return action in (who.actions if isinstance(who, Token) else actions_of(who))


def user_of(who: Who) -> User | AnonymousUser:
    """In whose name ``who`` acts."""
    return who.user if isinstance(who, Token) else who


def visible_snapshots(who: Who) -> SnapshotQuerySet:
    """The Snapshots that ``who`` may know of: every one that nobody removed, for those who may see the list."""
    rows: SnapshotQuerySet = Snapshot.objects.kept()
    return rows if may(who, Action.LIST) else rows.none()
