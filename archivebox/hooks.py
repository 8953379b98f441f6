"""Hooks as the engine sees them: which there are, how one is called, and what becomes of the records it prints."""

import json
import logging
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import platformdirs

from archivebox.config.conffile import read_conf
from archivebox.config.core import CORE_SETTINGS
from archivebox.config.personas import Persona
from archivebox.config.resolve import Layer, Resolved, resolve
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract import discovery
from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.discovery import BUNDLED, Plugin
from archivebox.contract.hook import Hook
from archivebox.contract.hooknames import extract_step, is_background_hook, parse_hook_name
from archivebox.contract.presentation import Output, ranked
from archivebox.contract.records import Record, taker_for
from archivebox.contract.schema import SettingSpec
from archivebox.lib.jsonl import JSON
from archivebox.machine.host import Machine
from archivebox.machine.process import Process

__all__ = [
    "Call",
    "HookCall",
    "base_layers",
    "crawl_layers",
    "discover_hooks",
    "extract_step",
    "is_background_hook",
    "learn_finite",
    "learned_as_finite",
    "needed_programs",
    "plugins",
    "prepare_hook",
    "process_hook_records",
    "resolve_settings",
    "run_hook",
    "script_environment",
]

log = logging.getLogger(__name__)

APPLICATION = Path(__file__).parent.parent
INHERITED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "USER", "LOGNAME", "XDG_RUNTIME_DIR")
"""What of our own environment every hook gets; everything else it gets is a setting."""
FOR_INSTALLERS = (
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
    "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
)  # fmt: skip
PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
INSTALLER_PREFIXES = ("PIP_", "UV_", "NPM_CONFIG_", "npm_config_", "HOMEBREW_")
"""What package clients need besides: certificates, proxies and their own settings."""


# --- which hooks and settings there are -----------------------------------------------------------------------


@cache
def plugins() -> dict[str, Plugin]:
    """Every plugin, read once per process."""
    return discovery.discover_plugins(DATA_FOLDER.plugins)


def outputs_of(plugin: str) -> tuple[Output, ...]:
    """What a plugin says of its files; nothing for one that is no longer there."""
    known = plugins().get(plugin)
    return known.outputs if known is not None else ()


def discover_hooks(event: str) -> tuple[Hook, ...]:
    """The hooks of an event (``Crawl``, ``Snapshot``, ``Binary``, ``CrawlEnd``, ``SnapshotEnd``) in file-name order."""
    return _discover_hooks(event, learned_as_finite())


@lru_cache(maxsize=64)
def _discover_hooks(event: str, finite: frozenset[str]) -> tuple[Hook, ...]:
    hooks = discovery.discover_hooks(plugins(), event)
    return tuple(
        replace(hook, finite=True) if hook.may_be_cut_off and hook.digest in finite else hook for hook in hooks
    )


def learned_as_finite() -> frozenset[str]:
    """SHA-256 of the background hooks that were at work when they were told to stop."""
    return _read_digests(_version_of(DATA_FOLDER.finite_hooks))


def learn_finite(hook: Hook) -> Hook:
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


def base_layers() -> list[Layer]:
    """The layers that hold for everything on this machine, weakest first; read again when file or machine changed."""
    version = _version_of(DATA_FOLDER.conf)
    return list(_base_layers(version, json.dumps(Machine.current().config, sort_keys=True)))


@lru_cache(maxsize=1)
def _base_layers(_version: tuple[int, int], machine_config: str) -> tuple[Layer, ...]:
    """The same objects each time: a worker asks for them at every poll and every Snapshot."""
    return (
        Layer("file", read_conf(DATA_FOLDER.conf)),
        Layer("machine", json.loads(machine_config)),
        Layer("environment", dict(os.environ)),
    )


def crawl_layers(config: Mapping[str, JSON]) -> list[Layer]:
    """The layers that hold for a crawl with these settings: this machine's, its persona's, and its own."""
    base, own = base_layers(), Layer("crawl", dict(config))
    name = resolve_settings([*base, own]).get_text("ACTIVE_PERSONA")
    return [*base, Persona(DATA_FOLDER.persona(name)).layer(), own]


def resolve_settings(layers: Sequence[Layer]) -> Resolved:
    """The settings that these layers amount to; equal layers are resolved once."""
    return resolve(plugins(), layers)


def needed_programs(plugin: Plugin, settings: Resolved) -> tuple[BinaryRequest, ...]:
    """The programs that a plugin needs, but those whose place a setting names: ``WGET_BINARY=/opt/wget/bin/wget``."""
    specs = [spec for spec in (*plugin.schema.settings.values(), CORE_SETTINGS["NODE_BINARY"]) if _names_program(spec)]
    given = {spec.default for spec in specs if _is_given(settings.get_text(spec.name), spec.default)}
    return tuple(request for request in plugin.binaries if request.name not in given)


def _names_program(spec: SettingSpec) -> bool:
    return spec.name.endswith("_BINARY")


def _is_given(value: str, default: JSON) -> bool:
    return value != default and bool(_which_path(value))


def lib_dir(settings: Resolved) -> Path:
    """Where programs are installed: ``LIB_DIR``, else a folder that this user's collections share."""
    named = settings.get_text("LIB_DIR")
    return Path(named) if named else platformdirs.user_data_path("archivebox") / "lib"


# --- how one is called ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """What the hooks of one object (Crawl, Snapshot, Binary) have in common."""

    object_dir: Path
    arguments: Mapping[str, str]
    """Option name without dashes → value, as the contract names them (``url``, ``snapshot-id``, …)."""
    context: Mapping[str, str]
    """Ids, for ``EXTRA_CONTEXT``."""
    folders: Mapping[str, str]
    """``SNAP_DIR``, ``CRAWL_DIR``, … as far as the object has them."""
    settings: Resolved
    binaries: Mapping[str, str]
    """Program name → absolute path, of those that this machine has; a worker learns more while it runs."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Program name → version, of the same."""
    proxy: str = ""
    """URL of the proxy by which the hooks of a crawl go out; those that install programs have none."""
    by_plugin: dict[str, "PluginCall"] = field(default_factory=dict)
    """Made on first use."""

    def of_plugin(self, hook: Hook) -> "PluginCall":
        if hook.plugin not in self.by_plugin:
            env, names = _environment(hook.plugin, self, for_installer=hook.name.event == "Binary")
            programs = tuple(name for name in names if name.endswith("_BINARY"))
            needed = needed_programs(plugins()[hook.plugin], self.settings) if hook.plugin in plugins() else ()
            self.by_plugin[hook.plugin] = PluginCall(env, names, programs, needed, self.object_dir / hook.plugin)
        return self.by_plugin[hook.plugin]


@dataclass(frozen=True, slots=True)
class PluginCall:
    """What all hooks of one plugin have in common for one object."""

    env: dict[str, str]
    """Without the places of programs, which are found while an object is worked on."""
    settings: list[str]
    """Names of its own settings in ``env``."""
    programs: tuple[str, ...]
    """Those of them that name programs."""
    needed: tuple[BinaryRequest, ...]
    """The programs that have to be there before its hooks can run."""
    cwd: Path


@dataclass(frozen=True, slots=True)
class HookCall:
    """One hook, ready to be started."""

    hook: Hook
    argv: tuple[str, ...]
    env: dict[str, str]
    env_names: list[str]
    cwd: Path
    object_dir: Path
    timeout: int


def prepare_hook(hook: Hook, call: Call) -> HookCall:
    """The command line, environment and folder of one hook run. Nothing is started and nothing written."""
    plugin = call.of_plugin(hook)
    programs = {name: call.binaries[plugin.env[name]] for name in plugin.programs if plugin.env[name] in call.binaries}
    versions = {name: call.versions.get(plugin.env[name], "") for name in programs}
    told = {f"{name.removesuffix('_BINARY')}_VERSION": version for name, version in versions.items() if version}
    return HookCall(
        hook=hook,
        argv=(*_interpreter(hook, call), str(hook.path), *hook.arguments(call.arguments)),
        env=plugin.env | programs | told | ({"PYTHONPATH": str(APPLICATION)} if hook.environment else {}),
        env_names=plugin.settings,
        cwd=plugin.cwd,
        object_dir=call.object_dir,
        timeout=int(call.settings.timeout_for(hook)),
    )


def _interpreter(hook: Hook, call: Call) -> tuple[str, ...]:
    match hook.interpreter:
        case "python":
            return (call.binaries.get(hook.environment, hook.environment) if hook.environment else sys.executable,)
        case "node":
            named = call.settings.get_text("NODE_BINARY")
            return ((call.binaries.get(named) if os.sep not in named else None) or _which(named),)
        case "bash":
            return ("/bin/bash",)
        case _:
            return ()


def _which(name: str) -> str:
    return _which_path(name) or name


@lru_cache(maxsize=64)
def _which_path(name: str) -> str:
    return shutil.which(name) or ""


def _environment(plugin: str, call: Call, *, for_installer: bool) -> tuple[dict[str, str], list[str]]:
    own = call.settings.for_plugin(plugin)
    lib = str(lib_dir(call.settings))
    env = {name: os.environ[name] for name in INHERITED if name in os.environ}
    if for_installer:
        env |= {
            name: value
            for name, value in os.environ.items()
            if name in FOR_INSTALLERS or name.startswith(INSTALLER_PREFIXES)
        }
    env |= own
    env |= {
        "PATH": f"{lib}/bin:{os.environ.get('PATH') or os.defpath}",
        "NODE_PATH": f"{lib}/npm/node_modules",
        "NODE_MODULES_DIR": f"{lib}/npm/node_modules",
        "LIB_DIR": lib,
        "DATA_DIR": str(DATA_FOLDER.root),
        "PERSONAS_DIR": str(DATA_FOLDER.personas),
        "ACTIVE_PERSONA": call.settings.get_text("ACTIVE_PERSONA"),
        "ABX_RUNTIME": "archivebox",
        "HOOK_BASE": str(BUNDLED / "base"),  # where hook.sh and hook.js are
        "EXTRA_CONTEXT": json.dumps(dict(call.context)),
    }
    env |= call.folders
    if call.proxy:
        env |= dict.fromkeys(PROXY_VARIABLES, call.proxy)
        env |= {"no_proxy": "", "NO_PROXY": "", "NODE_USE_ENV_PROXY": "1"}
    if plugin in plugins() and plugins()[plugin].search is not None:
        env["SEARCH_TEXTS"] = json.dumps(_search_texts())
    return env, sorted(own)


def _search_texts() -> list[tuple[str, str]]:
    """Plugin and pattern of the files that are text for search, the best first."""
    outputs = {plugin.name: plugin.outputs for plugin in plugins().values()}
    return [(name, output.file) for name, output in ranked(outputs, "text")]


def script_environment(plugin: str, settings: Resolved, binaries: Mapping[str, str]) -> dict[str, str]:
    """What a script of a plugin finds that is no hook: it is asked something, outside any object's work."""
    env, names = _environment(plugin, Call(DATA_FOLDER.root, {}, {}, {}, settings, binaries), for_installer=False)
    programs = {name: binaries[env[name]] for name in names if name.endswith("_BINARY") and env[name] in binaries}
    return env | programs | {"PYTHONPATH": str(APPLICATION)}


# --- what becomes of its records ------------------------------------------------------------------------------


def process_hook_records(
    records: Iterable[Record | dict[str, JSON]], overrides: Mapping[str, Any] | None = None
) -> dict[str, int]:
    """Hand each record to the model that signed up for its type; returns how many of each type were taken.

    ``overrides`` name the object whose hook printed them (``snapshot``, ``crawl``, ``binary``, ``process``, or any of
    them as ``model``), and who owns what is made (``created_by_id``; else the owner of its crawl). A type that nobody
    knows stays in the log and is counted under ``unknown``.
    """
    given = _named(overrides or {})
    counts: dict[str, int] = {}
    for record in records:
        if isinstance(record, Record):
            kind, fields = record.type, record.fields
        else:
            kind, fields = str(record.get("type")), {name: value for name, value in record.items() if name != "type"}
        taker = taker_for(kind)
        if taker is None:
            counts["unknown"] = counts.get("unknown", 0) + 1
        elif taker(fields, given) is not None:
            counts[kind] = counts.get(kind, 0) + 1
    return counts


def _named(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """``model``, by which a caller may name its object whatever it is, as the object it is and those above it."""
    model = overrides.get("model")
    if model is None:
        return dict(overrides)
    found = {model._meta.model_name: model}
    found |= {name: above for name in ("snapshot", "crawl") if (above := getattr(model, name, None)) is not None}
    return {**found, **overrides}


# --- the synchronous way --------------------------------------------------------------------------------------


def run_hook(
    script: Path,
    output_dir: Path,
    config: Mapping[str, JSON],
    timeout: int | None = None,
    parent_process: Process | None = None,
    *,
    crawl_dir: Path | None = None,
    binaries: Mapping[str, str] | None = None,
    proxy: str = "",
    **kwargs: object,
) -> Process:
    """Run one hook script outside any worker and return its Process: ended, or running if it is a background hook.

    ``output_dir`` is the plugin's folder; ``kwargs`` become options (``snapshot_id=…`` → ``--snapshot-id=…``).
    ``crawl_dir``: where the hooks of the Crawl ran, for one of a Snapshot. ``binaries``: name → path of programs.
    ``proxy``: by which it goes out.
    """
    hook = _hook_of(script)
    arguments = {name.replace("_", "-"): str(value) for name, value in kwargs.items()}
    settings = resolve_settings(crawl_layers(config))
    ids = {name: str(value) for name, value in kwargs.items() if name.endswith("_id")}
    folders = _folders(ids, output_dir.parent, crawl_dir)
    call = Call(output_dir.parent, arguments, ids, folders, settings, binaries or {}, proxy=proxy)
    prepared = prepare_hook(hook, call)
    process = Process(
        machine=Machine.current(),
        parent=parent_process or Process.current(),
        process_type=Process.TypeChoices.HOOK,
        plugin=hook.plugin,
        hook_name=hook.file_name,
        cmd=list(prepared.argv),
        pwd=str(output_dir),
        env=prepared.env_names,
        timeout=timeout or prepared.timeout,
        **{name: ids[name] for name in ("crawl_id", "snapshot_id", "binary_id") if name in ids},
    )
    process.launch_env = {**prepared.env, "PYTHONPATH": str(APPLICATION)}
    return process.launch(background=hook.background)


def _folders(ids: Mapping[str, str], object_dir: Path, crawl_dir: Path | None) -> dict[str, str]:
    """The folders of the object that a hook is run for, by the names that hooks know them under."""
    snapshot = {"SNAP_DIR": str(object_dir)} if "snapshot_id" in ids else {}
    crawl = crawl_dir or (object_dir if "crawl_id" in ids and not snapshot else None)
    return snapshot | ({"CRAWL_DIR": str(crawl), "CRAWL_OUTPUT_DIR": str(crawl)} if crawl else {})


def _hook_of(script: Path) -> Hook:
    for plugin in plugins().values():
        for hook in plugin.hooks:
            if hook.path == script:
                return hook
    plugin_read = discovery.read_plugin(script.parent.name, script.parent)
    for hook in plugin_read.hooks if plugin_read else ():
        if hook.path == script:
            return hook
    problem = "is not there" if not script.exists() else "has no hook's name"
    example = "on_Snapshot__51_screenshot.py"
    message = f"{script} {problem}: {parse_hook_name(script.name) or example}"
    raise FileNotFoundError(message)
