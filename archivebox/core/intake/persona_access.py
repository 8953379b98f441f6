"""Owns as whom the crawls of somebody visit pages: a persona has cookies and a profile that are somebody's."""

from collections.abc import Mapping

from django.contrib.auth.models import User

from archivebox.base_models.users import SYSTEM
from archivebox.config.personas import Persona, personas_in
from archivebox.config.resolve import SettingError
from archivebox.config.settings import DATA_FOLDER
from archivebox.hooks import base_layers, resolve_settings
from archivebox.lib.jsonl import JSON

ACTIVE = "ACTIVE_PERSONA"


def personas_of(user: User | None) -> list[str]:
    """The personas as which the crawls of ``user`` may visit pages, by name.

    These are those that are shared with the account; of an administrator and of the command line (None) all.
    """
    known = personas_in(DATA_FOLDER.personas)
    return [persona.name for persona in known if user is None or _may_use_all(user) or user.username in persona.users]


def may_visit_as(user: User, name: str) -> bool:
    """Whether the crawls of ``user`` may visit pages as this persona; all may as the one that is set for all."""
    if not name or _may_use_all(user) or name == resolve_settings(base_layers()).get_text(ACTIVE):
        return True
    return user.username in Persona(DATA_FOLDER.persona(name)).users


def check_persona(user: User, name: str) -> None:
    """SettingError where the crawls of ``user`` may not visit pages as this persona."""
    if not may_visit_as(user, name):
        raise SettingError("crawl", ACTIVE, f"The persona {name} is not shared with {user.username}")


def without_foreign_persona(user: User, config: Mapping[str, JSON]) -> dict[str, JSON]:
    """The settings of a crawl, without a persona that is not for ``user``."""
    name = config.get(ACTIVE)
    is_foreign = isinstance(name, str) and not may_visit_as(user, name)
    return {key: value for key, value in config.items() if not (key == ACTIVE and is_foreign)}


def _may_use_all(user: User) -> bool:
    return user.is_superuser or user.username == SYSTEM
