"""Which plugins, hooks and settings there are, each read once per process."""

import json
import logging
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path

from archivebox.config.core import CORE_SETTINGS
from archivebox.config.database import database_url
from archivebox.config.early import own_conf
from archivebox.config.fleet_copy import read_fleet_copy
from archivebox.config.personas import Persona
from archivebox.config.resolve import Layer, Resolved, resolve, settings_of
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract import discovery
from archivebox.contract.binaries import BinaryRequest, in_known_ways
from archivebox.contract.discovery import Plugin
from archivebox.contract.hook import Hook
from archivebox.contract.presentation import OutputPattern
from archivebox.contract.schema import SettingSpec, prefix
from archivebox.lib.jsonl import JSON
from archivebox.machine.host import Machine
from archivebox.machine.machine_id import is_fleet

log = logging.getLogger(__name__)


@cache
def plugins() -> dict[str, Plugin]:
    """Every plugin, read once per process, and again when the data folder's have changed: see `base_layers`."""
    _read_at[:] = [_state_of(DATA_FOLDER.plugins)]
    return discovery.discover_plugins(DATA_FOLDER.plugins)


_read_at: list[frozenset[tuple[str, int, int]]] = []
"""The state of the data folder's plugins when they were read."""


def _state_of(folder: Path) -> frozenset[tuple[str, int, int]]:
    """What changes when a plugin comes, goes or is written anew: 1 ms for sixty plugins, 10 µs for none."""
    found = set()
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for plugin in entries:
            if plugin.is_dir():
                found.add((plugin.name, 0, 0))
                found.update(_files_of(plugin))
    return frozenset(found)


def _files_of(plugin: "os.DirEntry[str]") -> Iterator[tuple[str, int, int]]:
    with suppress(OSError), os.scandir(plugin) as entries:  # gone meanwhile, or not to be read: which discovery says
        for file in entries:
            if file.is_file():  # Python writes into folders of its own
                facts = file.stat()
                yield f"{plugin.name}/{file.name}", facts.st_mtime_ns, facts.st_size


def _notice_changes() -> None:
    if _read_at and _state_of(DATA_FOLDER.plugins) != _read_at[0]:
        log.info("The plugins of the data folder have changed action=plugins_changed")
        plugins.cache_clear()
        _discover_hooks.cache_clear()


def outputs_of(plugin: str) -> tuple[OutputPattern, ...]:
    """What a plugin says of its files; nothing for one that is no longer there."""
    known = plugins().get(plugin)
    return known.outputs if known is not None else ()


def discover_hooks(event: str) -> tuple[Hook, ...]:
    """The hooks of an event (``Crawl``, ``Snapshot``, ``Binary``, ``CrawlEnd``, ``SnapshotEnd``) in file-name order."""
    return _discover_hooks(event, known_finite_hooks())


@lru_cache(maxsize=64)
def _discover_hooks(event: str, finite: frozenset[str]) -> tuple[Hook, ...]:
    hooks = discovery.discover_hooks(plugins(), event)
    return tuple(
        replace(hook, finite=True) if hook.may_be_cut_off and hook.digest in finite else hook for hook in hooks
    )


def known_finite_hooks() -> frozenset[str]:
    """SHA-256 of the background hooks that were at work when they were told to stop."""
    return _read_digests(_version_of(DATA_FOLDER.finite_hooks))


def remember_finite(hook: Hook) -> Hook:
    """Let a hook count as finite from now on, here and in every process of this collection; returns it as that."""
    try:
        with DATA_FOLDER.finite_hooks.open("a") as file:
            file.write(f"{hook.digest} {hook.plugin}/{hook.file_name}\n")
    except OSError as error:
        log.warning("%s is not remembered as finite: %s action=not_learned", hook.file_name, error)
    return replace(hook, finite=True)


@lru_cache(maxsize=1)
def _read_digests(version: tuple[int, int]) -> frozenset[str]:
    if version == NOT_THERE:
        return frozenset()
    return frozenset(line.partition(" ")[0] for line in DATA_FOLDER.finite_hooks.read_text().splitlines())


NOT_THERE = (0, 0)


def _version_of(path: Path) -> tuple[int, int]:
    """What changes when a small file is written anew; a stat a page costs 2 µs."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return NOT_THERE
    return status.st_mtime_ns, status.st_size


def forget_plugins() -> None:
    """Read the plugin folders again: after one was added, or between tests."""
    plugins.cache_clear()
    _discover_hooks.cache_clear()
    _read_digests.cache_clear()
    _base_layers.cache_clear()


def forget_environment() -> None:
    """Read the environment again: after it was replaced by that of another process."""
    _base_layers.cache_clear()
    path_of_program.cache_clear()


def base_layers() -> list[Layer]:
    """The layers that hold for everything on this machine, weakest first; read again when file or machine changed.

    Whoever begins something asks for them, so that plugins are looked at here, too: those that have changed hold for
    what begins from now on.
    """
    _notice_changes()
    version, shared = _version_of(DATA_FOLDER.conf), _version_of(DATA_FOLDER.fleet_settings) if is_fleet() else None
    return list(_base_layers(version, shared, json.dumps(Machine.current().config, sort_keys=True)))


@lru_cache(maxsize=1)
def _base_layers(_version: tuple[int, int], shared: tuple[int, int] | None, machine_config: str) -> tuple[Layer, ...]:
    """The same objects each time: a worker asks for them at every poll and every Snapshot."""
    fleet = [] if shared is None else [Layer("fleet", read_fleet_copy(DATA_FOLDER, database_url(DATA_FOLDER)))]
    return (
        *fleet,
        Layer("file", own_conf(DATA_FOLDER)),
        Layer("machine", json.loads(machine_config)),
        Layer("environment", dict(os.environ)),
    )


def crawl_layers(config: Mapping[str, JSON]) -> list[Layer]:
    """The layers that hold for a crawl with these settings: this machine's, its persona's, and its own."""
    base, own = base_layers(), Layer("crawl", dict(config))
    name = resolve_settings([*base, own]).get_text("ACTIVE_PERSONA")
    persona = [Persona(DATA_FOLDER.persona(name)).layer()] if name else []
    return [*base, *persona, own]


def anonymous_settings() -> dict[str, JSON]:
    """The settings of a crawl that sends nothing along by which a site knows somebody: no persona, cookies, headers."""
    tables = [CORE_SETTINGS, *(plugin.schema.settings for plugin in plugins().values())]
    specs = (spec for table in tables for spec in table.values() if spec.identity)
    return {"ACTIVE_PERSONA": "", **{spec.name: {} if spec.type == "object" else "" for spec in specs}}


def resolve_settings(layers: Sequence[Layer]) -> Resolved:
    """The settings that these layers amount to; equal layers are resolved once."""
    return resolve(plugins(), layers)


def known_settings() -> dict[str, SettingSpec]:
    """Every name a setting may be given under → the setting."""
    specs = dict(CORE_SETTINGS)
    for plugin in plugins().values():
        for spec in plugin.schema.settings.values():
            specs.setdefault(spec.name, spec)
    return {alias: spec for spec in specs.values() for alias in spec.aliases} | specs


def check_settings(values: Mapping[str, JSON]) -> dict[str, JSON]:
    """What :meth:`Settings.checked` makes of ``values`` with the plugins that there are."""
    return settings_of(plugins()).checked(values)


def needed_programs(plugin: Plugin, settings: Resolved) -> tuple[BinaryRequest, ...]:
    """The programs that a plugin needs, in the words of the providers that there are.

    Left out are those whose place a setting names: ``WGET_BINARY=/opt/wget/bin/wget``. A setting of its own, or the one
    that is called after the program, whichever plugin has it.
    """
    specs = [spec for spec in (*plugin.schema.settings.values(), CORE_SETTINGS["NODE_BINARY"]) if _names_program(spec)]
    given = {spec.default for spec in specs if _is_given(settings.get_text(spec.name), spec.default)}
    known = known_providers()
    asked = (*plugin.binaries, *chain.from_iterable(other.binaries for other in _program_lists(plugin)))
    return tuple(
        in_known_ways(request, known)
        for request in asked
        if request.name not in given and not configured_path(request.name, settings)
    )


def _program_lists(plugin: Plugin) -> Iterator[Plugin]:
    """The plugins that it requires and that do nothing but name programs: nobody else asks for those."""
    for name in plugin.required_plugins:
        if name in plugins() and not plugins()[name].hooks:
            yield plugins()[name]


def known_providers() -> frozenset[str]:
    """Those that install programs, or find them."""
    return frozenset(hook.plugin for hook in discover_hooks("Binary"))


def configured_path(program: str, settings: Resolved) -> str:
    """What somebody set as the place of a program, as ``CHROME_BINARY`` for ``chrome``; empty where nobody did."""
    name = setting_of_program(program)
    value = settings.get_text(name) if settings.is_given(name) else ""
    return value if value not in ("", program) and path_of_program(value) else ""


def setting_of_program(program: str) -> str:
    return f"{prefix(program)}_BINARY"


def _names_program(spec: SettingSpec) -> bool:
    return spec.name.endswith("_BINARY")


def _is_given(value: str, default: JSON) -> bool:
    return value != default and bool(path_of_program(value))


@lru_cache(maxsize=64)
def path_of_program(name: str) -> str:
    """Where a program is on our own PATH; empty where it is not."""
    return shutil.which(name) or ""
