"""Owns `archivebox config`: settings, where they come from, and changing those of the data folder's file."""

import getpass
import sys
from collections.abc import Mapping

from archivebox.cli import settings
from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Column
from archivebox.cli.session import Session
from archivebox.config.conffile import write_conf
from archivebox.contract.schema import SettingSpec, check_value, to_env
from archivebox.hooks import known_settings
from archivebox.lib.jsonl import JSON

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


def set_(session: Session, *, pairs: tuple[str, ...]) -> int:
    """All or nothing."""
    changes: dict[str, str] = {}
    for pair in pairs:
        spec, value = settings.parse_pair(pair) if "=" in pair else _asked(pair)
        changes[spec.name] = to_env(value)
    return _write(session, changes, "Set")


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


def unset(session: Session, *, names: tuple[str, ...]) -> int:
    changes: dict[str, str | None] = {}
    for name in names:
        spec = settings.spec_of(name)
        changes |= dict.fromkeys((spec.name, *spec.aliases))
    return _write(session, changes, "Unset")


def _write(session: Session, changes: Mapping[str, str | None], deed: str) -> int:
    path = session.folder.conf
    try:
        write_conf(path, changes)
    except ValueError as error:
        raise BadInputError(f"{error}.") from None
    names = sorted(changes)
    session.out.event({"type": "Settings", "path": str(path), "names": names}, f"{deed} in {path}: {', '.join(names)}.")
    return 0


def explain(session: Session, *, name: str) -> int:
    """What each place says, weakest first: the last one holds."""
    spec = settings.spec_of(name)
    resolved = settings.current(is_collection=session.is_collection)
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
    session.out.table(columns, records, empty="Nothing says anything of it.")
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
            value = HIDDEN if spec.sensitive and said else resolved.get(spec.name)
            record = {"type": "Setting", "name": spec.name, "value": value, "source": source}
            records.append({**record, "description": spec.description})
    session.out.table(COLUMNS, records, empty="Every setting has its default; --all shows them.")
    return 0
