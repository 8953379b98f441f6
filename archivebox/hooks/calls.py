"""Owns how a hook is called: command line, environment, folder."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import platformdirs

from archivebox.config.resolve import Resolved
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.discovery import BUNDLED
from archivebox.contract.hook import Hook
from archivebox.contract.presentation import RECORDING, ranked
from archivebox.hooks.registry import configured_path, needed_programs, path_of_program, plugins, setting_of_program
from archivebox.lib.processes import MARK
from archivebox.storage.shared_files import store_of

HOOK_PATH = Path(__file__).with_name("pythonpath")
"""Where hooks find our modules, and nothing else."""
INHERITED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "USER", "LOGNAME", "XDG_RUNTIME_DIR")
"""What of our own environment every hook gets; everything else it gets is a setting."""
FOR_INSTALLERS = (
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
    "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
)  # fmt: skip
PROXY_VARIABLES = (
    "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY",
)  # fmt: skip
"""For FTP, too, to which wget follows redirects: the proxy refuses it, and without one wget goes there itself."""
USER, NO_PASSWORD = "hook", "none"
"""What the proxy's URL says where no process id is known, and no password is given: some clients want both."""
NO_EXCEPTION = "<-loopback>"
"""Names no host. Chromium goes past its proxy to every loopback port unless it is told so."""
INSTALLER_PREFIXES = ("PIP_", "UV_", "NPM_CONFIG_", "npm_config_", "HOMEBREW_")
"""What package clients need besides: certificates, proxies and their own settings."""


def snapshot_folders(snapshot_dir: Path) -> dict[str, str]:
    """The folders that hooks of a Snapshot know besides those of its crawl, by the names of their variables."""
    return {"SNAP_DIR": str(snapshot_dir), "SHARED_BODIES_DIR": str(store_of(snapshot_dir) or "")}


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
    proxy: "Proxy | None" = None
    """By which the hooks of a crawl go out; those that install programs have none."""
    by_plugin: dict[str, "PluginCall"] = field(default_factory=dict)
    """Made on first use."""

    def of_plugin(self, hook: Hook) -> "PluginCall":
        if hook.plugin not in self.by_plugin:
            env, names = _environment(hook.plugin, self, for_installer=hook.name.event == "Binary")
            programs = tuple(name for name in names if name.endswith("_BINARY"))
            plugin = plugins().get(hook.plugin)
            needed = needed_programs(plugin, self.settings) if plugin is not None else ()
            for request in plugin.binaries if plugin is not None else ():
                if place := configured_path(request.name, self.settings):
                    env.setdefault(setting_of_program(request.name), place)
            self.by_plugin[hook.plugin] = PluginCall(env, names, programs, needed, self.object_dir / hook.plugin)
        return self.by_plugin[hook.plugin]


class Proxy(NamedTuple):
    """The proxy of a crawl: ``host:port``, and the password by which hooks reach what their own crawl has started.

    Bundled plugins need nothing of that kind, and what they fetch is named by pages: they have no password. Browsers
    say none that stands in their environment, so that no page has it.
    """

    place: str
    password: str

    def url(self, *, bundled: bool) -> str:
        return f"http://{USER}:{NO_PASSWORD if bundled else self.password}@{self.place}"


def environment_of_process(env: Mapping[str, str], process_id: str) -> dict[str, str]:
    """The environment of one hook run, which says to the proxy which process it is."""
    own = {MARK: process_id}
    if proxy := env.get(PROXY_VARIABLES[0]):
        own |= dict.fromkeys(PROXY_VARIABLES, proxy.replace(f"//{USER}:", f"//{process_id}:", 1))
    return {**env, **own}


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


class HookCall(NamedTuple):
    """One hook, ready to be started."""

    hook: Hook
    argv: tuple[str, ...]
    env: dict[str, str]
    env_names: list[str]
    cwd: Path
    object_dir: Path
    timeout: int
    output_max: int
    """Bytes that are kept of each of its streams."""
    file_max: int
    """Bytes of the largest file that it may write."""


def prepare_hook(hook: Hook, call: Call) -> HookCall:
    """The command line, environment and folder of one hook run. Nothing is started and nothing written."""
    plugin = call.of_plugin(hook)
    programs = {name: call.binaries[plugin.env[name]] for name in plugin.programs if plugin.env[name] in call.binaries}
    versions = {name: call.versions.get(plugin.env[name], "") for name in programs}
    told = {f"{name.removesuffix('_BINARY')}_VERSION": version for name, version in versions.items() if version}
    starts_cold = hook.environment and not hook.fork  # who forks the others gives them the path where it cannot
    path = {"PYTHONPATH": str(HOOK_PATH)} if starts_cold else {}
    return HookCall(
        hook=hook,
        argv=(*_interpreter(hook, call), str(hook.path), *hook.arguments(call.arguments)),
        env=plugin.env | programs | told | path,
        env_names=plugin.settings,
        cwd=plugin.cwd,
        object_dir=call.object_dir,
        timeout=int(call.settings.timeout_for(hook)),
        output_max=call.settings.get_int("HOOK_OUTPUT_MAX"),
        file_max=call.settings.get_int("HOOK_FILE_MAX"),
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
    return path_of_program(name) or name


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
        "RECORDING_PLUGIN": _recording_plugin(call.settings),
    }
    env |= call.folders
    if call.proxy is not None:
        bundled = plugin in plugins() and plugins()[plugin].source == "bundled"
        env |= dict.fromkeys(PROXY_VARIABLES, call.proxy.url(bundled=bundled))
        env |= {"no_proxy": NO_EXCEPTION, "NO_PROXY": NO_EXCEPTION, "NODE_USE_ENV_PROXY": "1"}
        env |= {"GIT_HTTP_PROXY_AUTHMETHOD": "basic"}  # else git says who asks only if it is asked, which nobody does
    if plugin in plugins() and plugins()[plugin].search is not None:
        env["SEARCH_TEXTS"] = json.dumps(_search_texts())
    return env, sorted(own)


def _recording_plugin(settings: Resolved) -> str:
    """The plugin whose recording of the page others read, one that is on first; empty: there is none."""
    outputs = {name: plugin.outputs for name, plugin in plugins().items()}
    names = [name for name, _ in ranked(outputs, RECORDING)]
    return next((name for name in names if settings.get_flag(plugins()[name].enabled_setting)), (*names, "")[0])


def _search_texts() -> list[tuple[str, str]]:
    """Plugin and pattern of the files that are text for search, the best first."""
    outputs = {plugin.name: plugin.outputs for plugin in plugins().values()}
    return [(name, output.file) for name, output in ranked(outputs, "text")]


def script_environment(plugin: str, settings: Resolved, binaries: Mapping[str, str]) -> dict[str, str]:
    """What a script of a plugin finds that is no hook: it is asked something, outside any object's work."""
    env, names = _environment(plugin, Call(DATA_FOLDER.root, {}, {}, {}, settings, binaries), for_installer=False)
    programs = {name: binaries[env[name]] for name in names if name.endswith("_BINARY") and env[name] in binaries}
    return env | programs | {"PYTHONPATH": str(HOOK_PATH)}


def lib_dir(settings: Resolved) -> Path:
    """Where programs are installed: ``LIB_DIR``, else a folder that this user's collections share."""
    named = settings.get_text("LIB_DIR")
    return Path(named) if named else platformdirs.user_data_path("archivebox") / "lib"
