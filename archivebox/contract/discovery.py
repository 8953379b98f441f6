"""Owns which plugins and hooks there are: folders read into values, without importing or running any of them."""

import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from archivebox.contract import entrypoints
from archivebox.contract.applies import ANY_PAGE, Applies, read_applies
from archivebox.contract.binaries import FILE_NAMES, BinaryRequest, parse_binaries
from archivebox.contract.hooknames import EVENT_ALIASES, EVENTS, HookName, parse_hook_name
from archivebox.contract.presentation import Output, read_outputs
from archivebox.contract.providers import ORDINARY, Provider, read_provider
from archivebox.contract.schema import PluginSchema, prefix, read_schema, string_list
from archivebox.contract.scripts import Interpreter, accepted_options, interpreter_of
from archivebox.lib.jsonl import JSON

BUNDLED = Path(__file__).parent.parent / "plugins"
"""The plugins that come with the application."""

TAB = "tab"
"""The resource that step 5 hooks hold unless they say otherwise: the live page."""

INSTALL_TIMEOUT = "INSTALL_TIMEOUT"
"""The setting that says how long a Binary hook may take."""

Source = Literal["bundled", "package", "data"]

HOOK_FLAGS = ("ready", "finite", "session", "page", "derived", "fork")
HOOK_LISTS = ("exclusive", "after", "argv", "sources")

_PLUGIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*", re.ASCII)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hook:
    """One script of a plugin, with what its name and ``x-hooks`` say of it.

    ``ready``: prints a line as soon as others may rely on it. ``finite``: ends by itself. ``session``: its effect
    is the live page. ``page``: needs the live page. ``derived``: made from other results, and made again when those
    change; from those of the plugins that ``sources`` names, else from all. ``exclusive``: resources it holds alone.
    ``after``: hooks or plugins it waits for. ``fork``: may run in a child of the fork server. ``argv``: options it
    accepts, without dashes; None: every one. ``applies``: the pages it is for.
    """

    plugin: str
    path: Path
    name: HookName
    ready: bool = False
    finite: bool = False
    session: bool = False
    page: bool = False
    derived: bool = False
    sources: tuple[str, ...] = ()
    exclusive: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    fork: bool = False
    argv: tuple[str, ...] | None = None
    applies: Applies = ANY_PAGE
    interpreter: Interpreter = "python"

    def __hash__(self) -> int:
        return hash(self.path)  # of all fields: ten times as slow, for every hook of every page

    @property
    def file_name(self) -> str:
        return self.name.file_name

    @property
    def step(self) -> int:
        return self.name.step

    @property
    def background(self) -> bool:
        return self.name.background

    @property
    def sort_key(self) -> tuple[str, str]:
        """Hooks start in file-name order, ``CrawlSetup`` among ``Crawl``; two of one name by plugin."""
        return self.name.file_name.partition("__")[2], self.plugin

    def arguments(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """``values`` by option name as ``--name=value``, only those that the script accepts.

        ``binproviders`` reaches a hook that knows only the older ``--bin-providers`` under that name.
        """
        if self.argv is None:
            return tuple(f"--{option}={value}" for option, value in values.items())
        older = "binproviders" not in self.argv and "bin-providers" in self.argv
        named = {"bin-providers" if older and key == "binproviders" else key: item for key, item in values.items()}
        return tuple(f"--{option}={value}" for option, value in named.items() if option in self.argv)


@dataclass(frozen=True, slots=True)
class Plugin:
    """One plugin folder; ``warnings`` are sentences about what in it could not be understood."""

    name: str
    path: Path
    source: Source
    schema: PluginSchema = field(default_factory=PluginSchema)
    hooks: tuple[Hook, ...] = ()
    binaries: tuple[BinaryRequest, ...] = ()
    required_plugins: tuple[str, ...] = ()
    output_mimetypes: tuple[str, ...] = ()
    outputs: tuple[Output, ...] = ()
    provider: Provider = ORDINARY
    warnings: tuple[str, ...] = ()

    @property
    def enabled_setting(self) -> str:
        return f"{prefix(self.name)}_ENABLED"

    @property
    def timeout_setting(self) -> str:
        """Providers of programs share one time, and do not touch what pip reads as ``PIP_TIMEOUT``."""
        return INSTALL_TIMEOUT if self.only_installs else f"{prefix(self.name)}_TIMEOUT"

    @property
    def only_installs(self) -> bool:
        """Whether every hook of it is a Binary hook."""
        return bool(self.hooks) and all(hook.name.event == "Binary" for hook in self.hooks)


def discover_plugins(data_plugins: Path | None = None, *, bundled: Path = BUNDLED) -> dict[str, Plugin]:
    """Every plugin by name: bundled, then of installed packages, then of the data folder; later replaces earlier.

    Never raises for what is in a folder: a plugin that cannot be understood is listed with a warning.
    """
    plugins: dict[str, Plugin] = {}
    for source, folders in _search_path(data_plugins, bundled):
        for name, folder in folders:
            plugin = read_plugin(name, folder, source)
            if plugin is not None:
                plugins[name] = plugin
    return dict(sorted(plugins.items()))


def _search_path(data_plugins: Path | None, bundled: Path) -> Iterator[tuple[Source, Iterable[tuple[str, Path]]]]:
    yield "bundled", _plugin_folders(bundled)
    yield "package", sorted(entrypoints.folders("archivebox.plugins").items())
    if data_plugins is not None:
        yield "data", _plugin_folders(data_plugins)


def _plugin_folders(parent: Path) -> Iterator[tuple[str, Path]]:
    try:
        names = sorted(entry.name for entry in os.scandir(parent) if entry.is_dir())
    except FileNotFoundError:
        return
    except OSError as error:
        logger.warning("The plugins in %s cannot be listed: %s", parent, error.strerror)
        return
    for name in names:
        if _PLUGIN_NAME.fullmatch(name):
            yield name, parent / name
        elif not name.startswith((".", "_")):
            logger.warning("The folder %s is no plugin: its name may hold letters, digits, _ and - only", parent / name)


def read_plugin(name: str, folder: Path, source: Source = "data") -> Plugin | None:
    """One plugin folder; None if it holds neither settings nor hooks nor programs (as ``plugins/base``)."""
    try:
        file_names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    except OSError as error:
        return Plugin(name, folder, source, warnings=(f"the folder cannot be read: {error.strerror}",))
    if not any(file.startswith("on_") or file == "config.json" or file in FILE_NAMES for file in file_names):
        return None
    config, warnings = _read_config(folder / "config.json") if "config.json" in file_names else ({}, [])
    schema, schema_warnings = read_schema(name, config)
    hooks, hook_warnings = _read_hooks(name, folder, file_names, config)
    outputs, output_warnings = read_outputs(config.get("x-outputs", []))
    provider, provider_warnings = read_provider(config.get("x-provider", {}))
    binaries: tuple[BinaryRequest, ...] = ()
    for binaries_file in (file for file in FILE_NAMES if file in file_names):
        requests, file_warnings = parse_binaries(folder / binaries_file)
        binaries += requests
        warnings.extend(file_warnings)
    return Plugin(
        name=name,
        path=folder,
        source=source,
        schema=schema,
        hooks=hooks,
        binaries=binaries,
        required_plugins=string_list(config.get("required_plugins")),
        output_mimetypes=string_list(config.get("output_mimetypes")),
        outputs=outputs,
        provider=provider,
        warnings=(*warnings, *schema_warnings, *hook_warnings, *output_warnings, *provider_warnings),
    )


def _read_config(path: Path) -> tuple[dict[str, JSON], list[str]]:
    try:
        config = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        return {}, [f"config.json cannot be read, so the plugin runs with its standard settings: {error}"]
    if not isinstance(config, dict):
        return {}, ["config.json holds no JSON object, so the plugin runs with its standard settings"]
    return config, []


def _read_hooks(
    plugin: str, folder: Path, file_names: list[str], config: Mapping[str, JSON]
) -> tuple[tuple[Hook, ...], list[str]]:
    declared = config.get("x-hooks", {})
    warnings: list[str] = []
    if not isinstance(declared, dict):
        warnings.append('"x-hooks" is not an object and is ignored')
        declared = {}
    hooks = []
    for file_name in file_names:
        name = parse_hook_name(file_name)
        if name is None or name.event not in EVENTS:
            if file_name.startswith("on_"):
                warnings.append(f"{file_name} is no hook's name (on_<{'|'.join(EVENTS)}>__<NN>_<what>[.bg].<py|js|sh>)")
            continue
        if name.number is None and name.event != "Binary":
            warnings.append(f"{file_name} has no number, so it runs in step 9")
        hooks.append(_read_hook(plugin, folder / file_name, name, declared.get(file_name), warnings))
    warnings.extend(f'"x-hooks" speaks of {key}, which is not there' for key in declared if key not in file_names)
    return tuple(hooks), warnings


def _read_hook(plugin: str, path: Path, name: HookName, declared: JSON, warnings: list[str]) -> Hook:
    flags, lists = _metadata(name, declared, warnings)
    try:
        text = path.read_text("utf-8", "replace")
        executable = os.access(path, os.X_OK)
    except OSError as error:
        warnings.append(f"{name} cannot be read: {error.strerror}")
        text, executable = "", False
    interpreter = interpreter_of(text, name.extension, executable=executable)
    argv = lists.get("argv")
    exclusive = lists.get("exclusive", _default_exclusive(name))
    return Hook(
        plugin=plugin,
        path=path,
        name=name,
        ready=name.daemon or flags.get("ready", False),
        finite=name.finite or flags.get("finite", False),
        session=flags.get("session", False),
        page=flags.get("page", False) or TAB in exclusive,
        derived=flags.get("derived", False),
        sources=lists.get("sources", ()),
        exclusive=exclusive,
        after=lists.get("after", ()),
        fork=flags.get("fork", True) and interpreter == "python",
        argv=accepted_options(text, name.extension) if argv is None else tuple(item.lstrip("-") for item in argv),
        applies=_applies(name, declared, warnings),
        interpreter=interpreter,
    )


def _applies(name: HookName, declared: JSON, warnings: list[str]) -> Applies:
    if not isinstance(declared, dict) or "applies" not in declared:
        return ANY_PAGE
    applies, problems = read_applies(declared["applies"])
    warnings.extend(f'"applies" in "x-hooks" of {name}: {problem}' for problem in problems)
    return applies


def _default_exclusive(name: HookName) -> tuple[str, ...]:
    return (TAB,) if name.event == "Snapshot" and name.step == 5 and not name.background else ()


def _metadata(
    name: HookName, declared: JSON, warnings: list[str]
) -> tuple[dict[str, bool], dict[str, tuple[str, ...]]]:
    """The flags and the lists of one ``x-hooks`` entry; what is not of the right type is left out with a warning."""
    flags: dict[str, bool] = {}
    lists: dict[str, tuple[str, ...]] = {}
    if declared is None:
        return flags, lists
    if not isinstance(declared, dict):
        warnings.append(f'"x-hooks" of {name} is not an object and is ignored')
        return flags, lists
    for key, value in declared.items():
        if key in HOOK_FLAGS and isinstance(value, bool):
            flags[key] = value
        elif key in HOOK_LISTS and isinstance(value, list) and all(isinstance(item, str) for item in value):
            lists[key] = string_list(value)
        elif key != "applies":
            warnings.append(f'"{key}" in "x-hooks" of {name} is not understood and is ignored')
    return flags, lists


def discover_hooks(plugins: Mapping[str, Plugin], event: str) -> tuple[Hook, ...]:
    """The hooks that answer to ``event``, in the order in which they start."""
    wanted = EVENT_ALIASES.get(event, event)
    found = (hook for plugin in plugins.values() for hook in plugin.hooks if hook.name.event == wanted)
    return tuple(sorted(found, key=lambda hook: hook.sort_key))
