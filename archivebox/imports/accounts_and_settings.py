"""What another collection has besides pages, accounts, schedules and settings, and bringing them into this one.

That may be done twice: what is here as it was there is passed by. What is here otherwise stays, and is listed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Protocol, runtime_checkable

from django.contrib.auth.models import User
from django.db import IntegrityError

from archivebox.accounts.people import make
from archivebox.accounts.roles import OPENED_BY, Role
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.users import SYSTEM
from archivebox.contract.schema import SettingSpec, check_value, to_env
from archivebox.core.intake import schedules
from archivebox.core.intake.parse_input import parse_strictly
from archivebox.core.intake.request import CrawlRequest, Requester
from archivebox.crawls.schedule import CrawlSchedule
from archivebox.hooks import known_settings
from archivebox.hooks.stored_settings import stored_settings, write_settings
from archivebox.imports.page import NotImported, Reader, clean


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
    def notes(self) -> list[str]:
        """How many there are of each, then which would come, for people before they decide; none: there is nothing."""
        admins = sum(user.is_superuser for user in self.users)
        counts = [
            f"accounts: {len(self.users)} (administrators: {admins})" if self.users else "",
            f"schedules: {len(self.schedules)}" if self.schedules else "",
            f"settings: {len(self.settings)}" if self.settings else "",
        ]
        specs = known_settings()
        known = ((name, text, specs[name]) for name, text in self.settings.items() if name in specs)
        named = {
            "Accounts": [f"{user.username} ({_role(user)})" for user in self.users],
            "Schedules": [f"{one.schedule} {' '.join(one.urls)}" for one in self.schedules],
            "Settings": [
                f"{name} = {'(secret)' if spec.sensitive else text}" for name, text, spec in known if not spec.is_local
            ],
        }
        besides = f"Besides pages: {', '.join(filter(None, counts))}." if any(counts) else ""
        which = [f"{kind}: {', '.join(one[:80] for one in items[:20])}." for kind, items in named.items() if items]
        return [besides, *which] if besides else []


@runtime_checkable
class CollectionReader(Reader, Protocol):
    """A reader of a whole collection."""

    def accounts_and_settings(self) -> AccountsAndSettings: ...


# --- bringing them here -----------------------------------------------------------------------------------------------
class _LeftOutError(ValueError):
    """Why one of them is not imported."""


def import_accounts_and_settings(found: AccountsAndSettings, by: User) -> list[NotImported]:
    """Returns what is not imported."""
    problems = [NotImported("ArchiveBox.conf", found.problem)] if found.problem else []
    attempts = [(f"account {user.username}", partial(_import_user, user, by)) for user in found.users]
    attempts += [(f"schedule {one.label or one.urls}", partial(_import_schedule, one, by)) for one in found.schedules]
    attempts += [(f"setting {name}", partial(_import_setting, name, text)) for name, text in found.settings.items()]
    for item, attempt in attempts:
        try:
            attempt()
        except ValueError as error:  # of accounts, schedules and settings alike: a sentence
            problems.append(NotImported(item, str(error)))
    return problems


# --- accounts ---------------------------------------------------------------------------------------------------


def _import_user(user: ImportedUser, by: User) -> None:
    """With the hash of its password, so that its owner logs in as before."""
    known = User.objects.filter(username=user.username).first()
    if known is not None and known.password == user.password:
        return
    if known is not None or user.username.lower() == SYSTEM:
        raise _LeftOutError("An account of this name is here.")
    try:
        with write_transaction():
            row = make(by, user.username, _role(user), "user.imported")
            row.password, row.is_active = user.password[:128], user.is_active
            row.email, row.first_name, row.last_name = user.email[:254], user.first_name[:150], user.last_name[:150]
            row.date_joined = user.joined_at or row.date_joined
            row.save(
                update_fields=["password", "is_active", "email", "first_name", "last_name", "date_joined"],
            )
    except IntegrityError:
        raise _LeftOutError("An account of this name is here.") from None


def _role(user: ImportedUser) -> Role:
    if user.is_superuser:
        return Role.ADMIN
    return Role.EDITOR if user.is_staff else Role.VIEWER


# --- schedules --------------------------------------------------------------------------------------------------


def _import_schedule(found: ImportedSchedule, by: User) -> None:
    request = CrawlRequest(urls=found.urls, depth=found.depth, tags=[clean(tag) for tag in found.tags])
    template = request.template(seed.url for seed in parse_strictly(request, Requester.in_name_of(by)))
    when, label = found.schedule[:64], clean(found.label)[:255]
    alike = CrawlSchedule.objects.filter(schedule=when, label=label, created_by=by)
    if any(one.template == template for one in alike):
        return
    row = CrawlSchedule(schedule=when, label=label, template=template, created_by=by)
    schedules.put(row)
    if not found.is_enabled:
        schedules.pause(row)


# --- settings ---------------------------------------------------------------------------------------------------


def _import_setting(name: str, text: str) -> None:
    """Where `archivebox config set` writes; what is set there stays."""
    spec = known_settings().get(name)
    if spec is None:
        raise _LeftOutError("No setting here corresponds to it.")
    value, here = _checked(spec, text), stored_settings()
    known = [here[one] for one in (spec.name, *spec.aliases) if one in here]
    if not known:
        write_settings({spec.name: value})
    elif known[-1] != value:
        raise _LeftOutError(f"{spec.name} is set here.")


def _checked(spec: SettingSpec, text: str) -> str:
    if spec.is_local:
        raise _LeftOutError(f"{spec.name} names a program, its options, a path, a server or a proxy: set it yourself.")
    value = check_value(spec, text)
    if value is True and spec.name in OPENED_BY:
        raise _LeftOutError(f"{spec.name} would open this collection to everyone: set it yourself.")
    return to_env(value)
