"""Owns the places whose settings `archivebox config` shows and changes, besides those where settings are stored."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.cli import personas, settings
from archivebox.cli.errors import BadInputError
from archivebox.cli.session import Session
from archivebox.cli.values import find
from archivebox.config.conffile import read_conf, write_conf
from archivebox.config.core import GROUPS
from archivebox.config.personas import Persona
from archivebox.config.resolve import Layer
from archivebox.contract.schema import SettingSpec
from archivebox.core.models import Snapshot
from archivebox.crawls.models import Crawl
from archivebox.lib.jsonl import JSON
from archivebox.machine.models import Machine

HERE = "here"
_READ_EARLY = frozenset(spec.name for group in ("Web", "Log-in", "Places") for spec in GROUPS[group])


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


def find_machine(text: str) -> Machine:
    """By its id, or the one that this runs on."""
    return find(Machine, str(Machine.current().pk) if text == HERE else text)


def set_of_machine(machine: Machine, values: Sequence[tuple[SettingSpec, JSON]]) -> None:
    """Set settings of one machine. BadInputError for secrets, and for what is read before its row can be."""
    for spec, _ in values:
        own_file = f"Set it in ArchiveBox.conf of {machine}, or in its environment."
        if spec.sensitive:
            raise BadInputError(f"{spec.name} is a secret, and a machine's row is not encrypted. {own_file}")
        if spec.name in _READ_EARLY:
            raise BadInputError(f"{spec.name} is read before the row of a machine is. {own_file}")
    names = [name for spec, _ in values for name in spec.aliases]
    machine.change_settings({**dict.fromkeys(names), **{spec.name: value for spec, value in values}})
    notify_workers()


def remove_of_machine(names: Collection[str], machine: Machine | None = None) -> list[str]:
    """Remove settings of a machine (this one), which people and hooks set; returns those that were set."""
    machine = machine or Machine.current()
    found = [name for name in names if name in machine.config]
    if found:
        machine.change_settings(dict.fromkeys(found))
    return found


def _remove_of_row(row: Crawl | Snapshot, names: Collection[str]) -> list[str]:
    with write_transaction():
        type(row).objects.filter(pk=row.pk).lock()
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
