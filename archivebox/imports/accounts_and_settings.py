"""What another collection has besides pages: accounts, schedules and settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, runtime_checkable

from archivebox.imports.page import Reader


@dataclass(frozen=True, slots=True)
class ImportedUser:
    """One account. ``password``: its hash, as Django writes it."""

    username: str
    password: str
    email: str = ""
    first_name: str = ""
    last_name: str = ""
    is_superuser: bool = False
    is_staff: bool = False
    is_active: bool = True
    joined_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ImportedSchedule:
    """One crawl that comes again."""

    schedule: str
    urls: tuple[str, ...]
    depth: int = 0
    tags: tuple[str, ...] = ()
    label: str = ""
    is_enabled: bool = True


@dataclass(frozen=True, slots=True)
class AccountsAndSettings:
    """What a collection has of each."""

    users: tuple[ImportedUser, ...] = ()
    schedules: tuple[ImportedSchedule, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    """By the names that they had there."""
    problem: str = ""
    """Why the settings could not be read."""

    @property
    def sentence(self) -> str:
        """For people, before they decide; empty where there is nothing."""
        admins = sum(user.is_superuser for user in self.users)
        parts = [
            f"accounts: {len(self.users)} (administrators: {admins})" if self.users else "",
            f"schedules: {len(self.schedules)}" if self.schedules else "",
            f"settings: {len(self.settings)}" if self.settings else "",
        ]
        return ", ".join(filter(None, parts))


@runtime_checkable
class CollectionReader(Reader, Protocol):
    """A reader of a whole collection."""

    def accounts_and_settings(self) -> AccountsAndSettings: ...
