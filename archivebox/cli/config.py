"""Carries out `archivebox config`: settings, where they come from, and changing them."""

import getpass
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.cli import settings
from archivebox.cli.conditions import find
from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Column
from archivebox.cli.persona import find_persona
from archivebox.cli.session import Session
from archivebox.config.conffile import read_conf, write_conf
from archivebox.config.core import GROUPS
from archivebox.config.personas import Persona
from archivebox.config.resolve import Layer, Resolved, SettingError
from archivebox.contract.schema import SettingSpec, check_value, is_of_machine, to_env
from archivebox.core.models import Snapshot
from archivebox.crawls.models import Crawl
from archivebox.hooks import known_settings, resolve_settings
from archivebox.hooks.stored_settings import stored_settings, write_settings
from archivebox.lib.jsonl import JSON
from archivebox.machine.machine_id import is_fleet
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
        found = find_persona(session, persona)
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


HIDDEN = "***"
COLUMNS = (
    Column("setting", "name"),
    Column("value", lambda record: to_env(record["value"]) if isinstance(record["value"], list | dict | bool)
           else record["value"], wraps=True),
    Column("from", "source"),
    Column("what it is", "description", wraps=True),
)  # fmt: skip


def refuse_early(params: Mapping[str, object]) -> None:
    pairs = params.get("pairs")
    if isinstance(pairs, tuple):
        settings.refuse_secrets(pairs, "Leave the value away: `archivebox config set NAME` asks for it.")


def get(session: Session, *, names: tuple[str, ...]) -> int:
    """The values alone on a terminal, for copying; a secret that is asked for by name is shown to who may read it."""
    specs = [settings.spec_of(name) for name in names]
    resolved = settings.current(is_collection=session.is_collection)
    for spec in specs:
        value = resolved.get(spec.name)
        session.out.event({"type": "Setting", "name": spec.name, "value": value}, to_env(value))
    return 0


def set_(session: Session, *, pairs: tuple[str, ...], machine: str = "") -> int:
    """All or nothing. What is set of the same names for this machine would go before it, and is removed."""
    values = [settings.parse_pair(pair) if "=" in pair else _asked(pair) for pair in pairs]
    names = sorted({spec.name for spec, _ in values})
    if machine:
        of = find_machine(machine)
        set_of_machine(of, values)
        _tell(session, "Set", names, [f"machine {of}"])
        return 0
    places = _write({spec.name: to_env(value) for spec, value in values})
    gone = remove_of_machine(_names_of(names))
    _tell(session, "Set", names, places)
    if gone:
        session.out.say(f"This machine had its own values of {', '.join(gone)}: they are removed.")
    return 0


def _asked(name: str) -> tuple[SettingSpec, JSON]:
    """The value from the keyboard, unseen if it is a secret; else from stdin."""
    spec = settings.spec_of(name)
    if not sys.stdin.isatty():
        text = sys.stdin.readline().rstrip("\r\n")
    elif spec.sensitive:
        text = getpass.getpass(f"{spec.name}: ")
    else:
        text = input(f"{spec.name}: ")
    try:
        return spec, check_value(spec, text)
    except ValueError as error:
        raise BadInputError(f"{error}.") from None


def unset(
    session: Session,
    *,
    names: tuple[str, ...],
    machine: str = "",
    crawl: str = "",
    snapshot: str = "",
    persona: str = "",
) -> int:
    """Where they are stored and for this machine, or in the place that is named."""
    wanted = _names_of(names)
    place = place_of(session, crawl=crawl, snapshot=snapshot, persona=persona)
    if place is not None and machine:
        raise BadInputError("Give one of --machine, --crawl, --snapshot and --persona.")
    if place is not None:
        gone, places = place.remove(wanted), [place.label]
    elif machine:
        of = find_machine(machine)
        gone, places = remove_of_machine(wanted, of), [f"machine {of}"]
    else:
        stored = stored_settings()
        gone, places = [name for name in wanted if name in stored], _write(dict.fromkeys(wanted))
        if of_machine := remove_of_machine(wanted):
            gone, places = [*gone, *of_machine], [*places, "this machine"]
    _tell(session, "Unset", sorted(wanted), places)
    if not gone:
        session.out.say("Nothing was set there.")
    return 0


def _names_of(names: Iterable[str]) -> list[str]:
    """Every name that the settings of these names may be given under."""
    specs = [settings.spec_of(name) for name in names]
    return [name for spec in specs for name in (spec.name, *spec.aliases)]


def share(session: Session, *, names: tuple[str, ...]) -> int:
    """Those that are named, or all that other machines may have, too."""
    if not is_fleet():
        raise BadInputError("With SQLite there is one machine, whose settings stay in ArchiveBox.conf.")
    here = read_conf(session.folder.conf)
    wanted = _names_of(names) if names else [name for name in here if name in known_settings()]
    shared = {settings.spec_of(name).name: here[name] for name in wanted if name in here and not is_of_machine(name)}
    if not shared:
        session.out.say("ArchiveBox.conf has nothing that other machines could share.")
        return 0
    places = _write({**dict.fromkeys(_names_of(shared)), **shared})
    _tell(session, "Set", sorted(shared), places)
    return 0


def _write(changes: Mapping[str, str | None]) -> list[str]:
    try:
        return write_settings(changes)
    except ValueError as error:
        raise BadInputError(f"{error}.") from None


def _tell(session: Session, verb: str, names: list[str], places: list[str]) -> None:
    """What was changed, and what goes before it."""
    record = {"type": "Settings", "path": places[0], "names": names, "places": places}
    session.out.event(record, f"{verb} in {' and '.join(places)}: {', '.join(names)}.")
    overruled = [name for name in names if os.environ.get(name)]
    if overruled:
        session.out.warn(f"The environment sets {', '.join(overruled)}, which goes before it.")


def explain(session: Session, *, name: str, crawl: str, snapshot: str, persona: str) -> int:
    """What each place says, weakest first: the last one holds."""
    spec = settings.spec_of(name)
    named = session.is_collection or crawl or snapshot or persona
    place = place_of(session, crawl=crawl, snapshot=snapshot, persona=persona) if named else None
    resolved = (
        settings.current(is_collection=session.is_collection) if place is None else resolve_settings(place.layers)
    )
    said = resolved.explain(spec.name)
    records = [
        {
            "type": "Setting",
            "name": spec.name,
            "source": source,
            "value": HIDDEN if spec.sensitive else value,
            "holds": number == len(said),
        }
        for number, (source, value) in enumerate(said, 1)
    ]
    session.out.say(f"{spec.name}: {spec.sentence} It takes {spec.allowed()}.")
    columns = (Column("from", "source"), Column("value", "value", wraps=True), Column("holds", "holds"))
    session.out.table(columns, records, empty="It is not set anywhere.")
    return 0


def list_(session: Session, *, names: tuple[str, ...], all: bool) -> int:  # noqa: A002 - the option's name
    """What differs from the defaults, or everything, of those whose names hold all words; secrets are not shown."""
    resolved = settings.current(is_collection=session.is_collection)
    records = []
    for spec in sorted({spec.name: spec for spec in known_settings().values()}.values(), key=lambda spec: spec.name):
        if {word.upper() for word in names if word.upper() not in spec.name}:
            continue
        said = resolved.explain(spec.name)
        source = said[-1][0] if said else "default"
        if all or not source.startswith("default"):
            value, problem = _value_of(resolved, spec)
            record = {"type": "Setting", "name": spec.name, "value": HIDDEN if spec.sensitive and said else value}
            records.append({**record, "source": source, "description": problem or spec.description})
    session.out.table(COLUMNS, records, empty="Every setting has its default; --all shows them.")
    return 0


def _value_of(resolved: Resolved, spec: SettingSpec) -> tuple[JSON, str]:
    """The value that holds, or the one that was given and why it cannot be used."""
    try:
        return resolved.get(spec.name), ""
    except SettingError as error:
        return resolved.explain(spec.name)[-1][1], f"{error}."
