"""Owns the places besides ArchiveBox.conf whose settings `archivebox config` shows and removes."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.cli import personas, settings
from archivebox.cli.errors import BadInputError
from archivebox.cli.session import Session
from archivebox.cli.values import find
from archivebox.config.conffile import read_conf, write_conf
from archivebox.config.personas import Persona
from archivebox.config.resolve import Layer
from archivebox.core.models import Snapshot
from archivebox.crawls.models import Crawl
from archivebox.machine.models import Machine


@dataclass(frozen=True, slots=True)
class SettingsPlace:
    """Where settings are kept: what it is called, all layers that hold there, and how names are removed from it."""

    label: str
    layers: list[Layer]
    remove: Callable[[Collection[str]], list[str]]
    """Returns the names that were set there."""


def place_of(session: Session, *, crawl: str = "", snapshot: str = "", persona: str = "") -> SettingsPlace | None:
    """The place that the options name; None where they name none. BadInputError for two, or for what is not there."""
    if sum(map(bool, (crawl, snapshot, persona))) > 1:
        raise BadInputError("Give one of --crawl, --snapshot and --persona.")
    if crawl or snapshot:
        row = find(Crawl, crawl) if crawl else find(Snapshot, snapshot)
        return SettingsPlace(f"{type(row).__name__.lower()} {row.pk}", row.layers(), partial(_remove_of_row, row))
    if persona:
        found = personas.find(session, persona)
        layers = [*settings.current_layers(is_collection=True), found.layer()]
        return SettingsPlace(f"persona {persona}", layers, partial(_remove_of_persona, found))
    return None


def remove_of_machine(names: Collection[str]) -> list[str]:
    """Remove settings of this machine, which hooks write; returns those that were set."""
    machine = Machine.current()
    found = [name for name in names if name in machine.config]
    if found:
        machine.change_settings(dict.fromkeys(found))
    return found


def _remove_of_row(row: Crawl | Snapshot, names: Collection[str]) -> list[str]:
    with write_transaction():
        type(row).objects.filter(pk=row.pk).hold()
        row.refresh_from_db(fields=["config"])
        found = [name for name in names if name in row.config]
        config = {name: value for name, value in row.config.items() if name not in found}
        type(row).objects.filter(pk=row.pk).update(config=config, modified_at=timezone.now())
    return found


def _remove_of_persona(persona: Persona, names: Collection[str]) -> list[str]:
    found = [name for name in names if name in read_conf(persona.conf)]
    if found:
        write_conf(persona.conf, dict.fromkeys(found))
    return found
