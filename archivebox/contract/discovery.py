"""Owns which plugins and hooks there are: folders read into values, without importing or running any of them."""

import hashlib
import json
import logging
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from archivebox.contract import entrypoints
from archivebox.contract.binaries import FILE_NAMES, BinaryRequest, parse_binaries, read_required
from archivebox.contract.hook import Hook, read_hook
from archivebox.contract.hooknames import EVENT_ALIASES, EVENTS, HookName, parse_hook_name
from archivebox.contract.presentation import DECLARED, OutputKind, OutputPattern, Role, read_keeps, read_outputs
from archivebox.contract.providers import ORDINARY, ProviderHook, read_provider
from archivebox.contract.schema import PluginSchema, prefix, read_schema, string_list
from archivebox.contract.scripts import ABX_PKG, ABX_PLUGINS, BY_EXTENSION, OLDER_PACKAGES, Script, read_script
from archivebox.lib.jsonl import JSON

BUNDLED = Path(__file__).parent.parent / "plugins"
"""The plugins that come with the application."""

INSTALL_TIMEOUT = "INSTALL_TIMEOUT"
"""The setting that says how long a Binary hook may take."""

Source = Literal["bundled", "package", "data"]

RUNNER_PROVIDERS = {"uv": ("env", "pip"), "abxpkg": ("env", "pip")}
"""Who may be asked for the program that a script's first line names; others are only looked for."""

PLUGIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*", re.ASCII)
_LIKE_A_HOOK = re.compile(
    r"on_|(?:on-?)?(?:Crawl|Snapshot|Binary|CrawlEnd|SnapshotEnd|CrawlSetup)_(?:_|\d\d_)", re.IGNORECASE
)

REQUIREMENTS_LOCK = "requirements.lock"
"""The packages of requirements.txt with all that they need, each in one version and with the hashes of its files."""

REPLACES = "replaces the plugin of this name"
"""In the warnings of a folder that takes something away that another had of what is read or shown."""
NO_SEARCH = 'it declares no "x-search", so that nothing would search'
"""In the warnings of a search backend that a folder of an earlier ArchiveBox would replace."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DeclaredBackend:
    """``engine``: what ``SEARCH_BACKEND_ENGINE`` calls it. ``script``: a Python file in the plugin's folder."""

    engine: str
    script: str


@dataclass(frozen=True, slots=True)
class Plugin:
    """One plugin folder; ``warnings`` are sentences about what in it could not be understood.

    ``title`` and ``description`` are for people: a few words, and a sentence.
    """

    name: str
    path: Path
    source: Source
    title: str = ""
    description: str = ""
    schema: PluginSchema = field(default_factory=PluginSchema)
    hooks: tuple[Hook, ...] = ()
    binaries: tuple[BinaryRequest, ...] = ()
    required_plugins: tuple[str, ...] = ()
    output_mimetypes: tuple[str, ...] = ()
    outputs: tuple[OutputPattern, ...] = ()
    keeps: OutputKind | Literal[""] = ""
    provider: ProviderHook = ORDINARY
    search: DeclaredBackend | None = None
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

    def may_keep(self, roles: Collection[Role]) -> bool:
        """Whether it says that it keeps files of one of these roles; one of somebody's own that says nothing may."""
        is_silent = not self.outputs and self.source != "bundled"
        return is_silent or any(output.role in roles for output in self.outputs)


def discover_plugins(data_plugins: Path | None = None, *, bundled: Path = BUNDLED) -> dict[str, Plugin]:
    """Every plugin by name: bundled, then of installed packages, then of the data folder; later replaces earlier.

    Never raises for what is in a folder: a plugin that cannot be understood is listed with a warning.
    """
    plugins: dict[str, Plugin] = {}
    for source, folders in _search_path(data_plugins, bundled):
        for name, folder in folders:
            plugin = read_plugin(name, folder, source)
            if plugin is not None:
                plugins[name] = _in_place_of(plugins[name], plugin) if name in plugins else plugin
    return dict(sorted(plugins.items()))


def _in_place_of(earlier: Plugin, plugin: Plugin) -> Plugin:
    """The plugin that two folders of one name make. The later folder wins, but what it does not mention stays.

    A folder that has only settings changes those of the earlier plugin. A folder without ``x-outputs``, as an earlier
    ArchiveBox has them, writes the same files: they keep their roles, except for those in a format of our own.
    """
    if unfit := _unfit(plugin, earlier):
        return replace(earlier, warnings=(*earlier.warnings, f"{plugin.path} is not used in its place: {unfit}"))
    if (earlier.hooks or earlier.search) and not (plugin.hooks or plugin.search):
        return read_plugin(earlier.name, earlier.path, earlier.source, changes=plugin.path) or plugin
    if not plugin.outputs:
        outputs = tuple(output for output in earlier.outputs if output.role not in DECLARED)
        plugin = replace(plugin, outputs=outputs, keeps=plugin.keeps or earlier.keeps)
    kept = {output.role for output in plugin.outputs}
    if lost := dict.fromkeys(output.role for output in earlier.outputs if output.role not in kept):
        warning = f'it {REPLACES} without the roles {", ".join(lost)} ("x-outputs"): nothing has them now'
        plugin = replace(plugin, warnings=(*plugin.warnings, warning))
    return plugin


def _unfit(plugin: Plugin, earlier: Plugin) -> str:
    """Why a folder may not replace a search backend, or a provider, on which all installations depend; else nothing."""
    if earlier.search is not None and plugin.hooks and plugin.search is None:
        return NO_SEARCH
    if not earlier.only_installs:
        return ""
    for hook in plugin.hooks:
        if hook.name.event == "Binary" and hook.interpreter == "self":
            return f"its first line has {hook.file_name} started by a program which itself has to be installed first"
    return plugin.warnings[0] if plugin.warnings else ""


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
        if not name.startswith((".", "_")):
            yield name, parent / name


@dataclass(slots=True)
class _Folder:
    """A plugin folder while it is read: what lies in it, and what in it could not be understood."""

    plugin: str
    path: Path
    file_names: list[str]
    config: dict[str, JSON] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def read_plugin(name: str, folder: Path, source: Source = "data", *, changes: Path | None = None) -> Plugin | None:
    """One plugin folder; None if it holds neither settings nor hooks nor programs (as ``plugins/base``).

    ``changes``: a folder whose ``config.json`` is laid over that of this one.
    """
    try:
        file_names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    except OSError as error:
        return Plugin(name, folder, source, warnings=(f"the folder cannot be read: {error.strerror}",))
    if not any(_LIKE_A_HOOK.match(file) or file == "config.json" or file in FILE_NAMES for file in file_names):
        return None
    if not PLUGIN_NAME.fullmatch(name):
        warning = "its folder's name may hold letters, digits, _ and - only, so none of it is used"
        return Plugin(name, folder, source, schema=read_schema(name, {})[0], warnings=(warning,))
    read = _Folder(name, folder, file_names)
    if "config.json" in file_names:
        read.config = _read_config(folder, read.warnings)
    if changes is not None:
        read.config = _laid_over(read.config, _read_config(changes, read.warnings))
    return _read_files(read, source)


def _read_files(folder: _Folder, source: Source) -> Plugin:
    programs = _read_programs(folder)
    schema, warnings = read_schema(folder.plugin, folder.config, [request.name for request in programs])
    folder.warnings.extend(warnings)
    hooks = _read_hooks(folder)
    environments = dict.fromkeys(request for _, request in hooks if request is not None)
    outputs, warnings = read_outputs(folder.config.get("x-outputs", []))
    folder.warnings.extend(warnings)
    keeps, warnings = read_keeps(folder.config.get("x-keeps"))
    folder.warnings.extend(warnings)
    provider, warnings = read_provider(folder.config.get("x-provider", {}))
    folder.warnings.extend(warnings)
    return Plugin(
        name=folder.plugin,
        path=folder.path,
        source=source,
        title=str(folder.config.get("title") or ""),
        description=str(folder.config.get("description") or ""),
        schema=schema,
        hooks=tuple(hook for hook, _ in hooks),
        binaries=(*_read_required(folder, schema), *programs, *environments),
        required_plugins=string_list(folder.config.get("required_plugins")),
        output_mimetypes=string_list(folder.config.get("output_mimetypes")),
        outputs=outputs,
        keeps=keeps,
        provider=provider,
        search=_read_search(folder),
        warnings=tuple(folder.warnings),
    )


def _read_config(folder: Path, warnings: list[str]) -> dict[str, JSON]:
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        warnings.append(f"config.json cannot be read, so the plugin runs with its standard settings: {error}")
        return {}
    if not isinstance(config, dict):
        warnings.append("config.json holds no JSON object, so the plugin runs with its standard settings")
        return {}
    return config


def _laid_over(config: dict[str, JSON], changes: dict[str, JSON]) -> dict[str, JSON]:
    """Objects are merged, down to what one setting says; everything else is replaced."""
    merged = dict(config)
    for key, value in changes.items():
        known = merged.get(key)
        merged[key] = _laid_over(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged


def _read_search(folder: _Folder) -> DeclaredBackend | None:
    declared = folder.config.get("x-search")
    if isinstance(declared, dict) and declared.keys() == {"engine", "script"}:
        engine, script = declared["engine"], declared["script"]
        if isinstance(engine, str) and isinstance(script, str) and engine and script in folder.file_names:
            return DeclaredBackend(engine, script)
    if declared is not None:
        folder.warnings.append('"x-search" wants an "engine" and a "script", a file of this folder, and is ignored')
    return None


def _read_programs(folder: _Folder) -> tuple[BinaryRequest, ...]:
    programs: tuple[BinaryRequest, ...] = ()
    for binaries_file in (file for file in FILE_NAMES if file in folder.file_names):
        requests, warnings = parse_binaries(folder.path / binaries_file)
        programs += requests
        folder.warnings.extend(warnings)
    return programs


def _read_required(folder: _Folder, schema: PluginSchema) -> tuple[BinaryRequest, ...]:
    """The programs that the newer dialect names in config.json, perhaps by a setting."""
    defaults = {spec.name: spec.default for spec in schema.settings.values()}
    required, warnings = read_required(folder.config.get("required_binaries"), defaults)
    folder.warnings.extend(warnings)
    return required


def _read_hooks(folder: _Folder) -> list[tuple[Hook, BinaryRequest | None]]:
    """The hooks, each with the environment that it needs as a program that pip installs."""
    declared = folder.config.get("x-hooks", {})
    if not isinstance(declared, dict):
        folder.warnings.append('"x-hooks" is not an object and is ignored')
        declared = {}
    hooks = []
    packages = _read_requirements(folder)
    for file_name in folder.file_names:
        name = parse_hook_name(file_name)
        if name is None or name.event not in EVENTS:
            if _LIKE_A_HOOK.match(file_name):
                expected = f"on_<{'|'.join(EVENTS)}>__<NN>_<what>[.bg].<py|js|sh>"
                folder.warnings.append(f"{file_name} is not a hook's name ({expected})")
            continue
        if name.number is None and name.event != "Binary":
            folder.warnings.append(f"{file_name} has no number, so it runs in step 9")
        script = _read_script(folder, name)
        if script.for_uv and name.event != "Binary":  # what installs programs waits for none, and has no packages
            script = replace(script, interpreter=BY_EXTENSION[name.extension], runner="")
        environment = None if name.event == "Binary" else _environment(folder, script, packages)
        if name.event == "Binary" and script.interpreter == "python" and (needed := packages or script.packages):
            folder.warnings.append(f"{file_name} installs programs, but itself needs {', '.join(needed)} installed")
        hook, warnings = read_hook(folder.plugin, folder.path / file_name, name, script, declared.get(file_name))
        folder.warnings.extend(warnings)
        if environment is not None and not script.runner:
            hook = replace(hook, environment=environment.name, fork=hook.fork and bool(hook.preload))
        hooks.append((hook, environment))
    missing = (key for key in declared if key not in folder.file_names)
    folder.warnings.extend(f'"x-hooks" speaks of {key}, which is not there' for key in missing)
    return hooks


def _read_requirements(folder: _Folder) -> tuple[str, ...]:
    """The packages of a plugin's ``requirements.txt``; its options (``-r``, ``--hash``) are not read."""
    if "requirements.txt" not in folder.file_names:
        return ()
    try:
        text = (folder.path / "requirements.txt").read_text("utf-8", "replace")
    except OSError as error:
        folder.warnings.append(f"requirements.txt cannot be read: {error.strerror}")
        return ()
    lines = (line.partition(" #")[0].strip() for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith(("#", "-")))


def _read_script(folder: _Folder, name: HookName) -> Script:
    path = folder.path / name.file_name
    try:
        return read_script(path.read_text("utf-8", "replace"), name.extension, executable=os.access(path, os.X_OK))
    except OSError as error:
        folder.warnings.append(f"{name} cannot be read: {error.strerror}")
        return read_script("", name.extension, executable=False)


def _environment(folder: _Folder, script: Script, packages: tuple[str, ...]) -> BinaryRequest | None:
    """What runs the script: the program that its first line names, or the Python of an environment with its packages.

    An environment has a name of its own for each set of packages. ``requirements.lock`` says which files these are.
    """
    if script.runner:
        return BinaryRequest(script.runner, RUNNER_PROVIDERS.get(script.runner, ("env",)))
    wanted = packages if packages and script.interpreter == "python" else script.packages
    if not wanted:
        return None
    owner = "older" if wanted in (OLDER_PACKAGES, (ABX_PKG, *OLDER_PACKAGES), (ABX_PLUGINS,)) else folder.plugin
    digest = hashlib.sha256("\n".join(wanted).encode()).hexdigest()[:8]
    options: dict[str, JSON] = {"packages": list(wanted), "names": ["python"]}
    if wanted is packages and REQUIREMENTS_LOCK in folder.file_names:
        options["lock"] = str(folder.path / REQUIREMENTS_LOCK)
    return BinaryRequest(f"{owner}-python-{digest}", ("pip",), {"pip": options})


def discover_hooks(plugins: Mapping[str, Plugin], event: str) -> tuple[Hook, ...]:
    """The hooks that answer to ``event``, in the order in which they start."""
    wanted = EVENT_ALIASES.get(event, event)
    found = (hook for plugin in plugins.values() for hook in plugin.hooks if hook.name.event == wanted)
    return tuple(sorted(found, key=lambda hook: hook.sort_key))
