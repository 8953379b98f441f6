"""Roles: what an account may do, as one table."""

from enum import Enum, StrEnum

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import models

from archivebox.base_models.rows import Row


class Action(StrEnum):
    """What somebody may be allowed to do. Every page and every endpoint asks for one of these."""

    LIST = "list"
    """See which pages are archived: titles, URLs, tags, states."""
    READ = "read"
    """Read archived pages, crawls, and what became of each hook."""
    INSPECT = "inspect"
    """See what ran on the machine: processes, command lines, folders, programs."""
    ADD = "add"
    """Have pages archived."""
    EDIT = "edit"
    """Tag, try again, pause, remove: change what is there."""
    OWN = "own"
    """Look after one's own account: password, tokens, webhooks."""
    ADMINISTER = "administer"
    """Look after accounts and the collection, and name hosts of private networks."""


class Role(StrEnum):
    """What an account is here for."""

    ADMIN = "admin"
    EDITOR = "editor"
    VIEWER = "viewer"
    PUBLIC = "public"
    """Whoever has not logged in: may do what settings open, and nothing else."""


_VIEWER = frozenset({Action.LIST, Action.READ, Action.OWN})
_EDITOR = _VIEWER | {Action.INSPECT, Action.ADD, Action.EDIT}

ALLOWED: dict[Role, frozenset[Action]] = {
    Role.ADMIN: frozenset(Action),
    Role.EDITOR: _EDITOR,
    Role.VIEWER: _VIEWER,
    Role.PUBLIC: frozenset(),
}
"""Who may do what."""

OPENED_BY: dict[str, frozenset[Action]] = {
    "PUBLIC_INDEX": frozenset({Action.LIST}),
    "PUBLIC_SNAPSHOTS": frozenset({Action.READ}),
    "PUBLIC_ADD_VIEW": frozenset({Action.ADD}),
}
"""Settings that open something to everybody."""


class Account(Row):
    """The role of a user who is no administrator; Django's own flag says who is."""

    class RoleChoices(models.TextChoices):
        EDITOR = Role.EDITOR.value, "editor"
        VIEWER = Role.VIEWER.value, "viewer"

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="account")
    role = models.CharField(max_length=16, choices=RoleChoices.choices, default=RoleChoices.VIEWER)

    def __str__(self) -> str:
        return f"{self.user}: {self.role}"


def role_of(user: User | AnonymousUser) -> Role:
    """The role that counts; an account that nobody gave one is a viewer."""
    if isinstance(user, AnonymousUser) or not user.is_active:
        return Role.PUBLIC
    if user.is_superuser:
        return Role.ADMIN
    account = getattr(user, "account", None)  # Django's way to ask for a row that may be missing
    return Role.VIEWER if account is None else Role(account.role)


def actions_of(user: User | AnonymousUser) -> frozenset[Action]:
    """All that a user may do, or a passer-by."""
    return ALLOWED[role_of(user)] | public_actions()


def public_actions() -> frozenset[Action]:
    """What this server's settings allow without a log-in; they are read once, when it starts."""
    opened = [actions for name, actions in OPENED_BY.items() if getattr(settings, name, False)]
    return frozenset().union(*opened)


class TokenScope(Enum):
    """What a token is good for, whatever else its account may do."""

    FEED = "feed", frozenset({Action.LIST})
    READ = "read", frozenset({Action.LIST, Action.READ, Action.INSPECT})
    ADD = "add", frozenset({Action.ADD})
    WRITE = "write", frozenset({Action.LIST, Action.READ, Action.INSPECT, Action.ADD, Action.EDIT})
    ADMIN = "admin", frozenset(Action)

    def __init__(self, label: str, actions: frozenset[Action]) -> None:
        self.label = label
        self.actions = actions
