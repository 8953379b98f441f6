"""Owns which setting wins: one order of precedence, from defaults to the snapshot."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from archivebox.config.core import CORE_SETTINGS, SHARED_SETTINGS
from archivebox.contract.discovery import INSTALL_TIMEOUT, Plugin
from archivebox.contract.hook import Hook
from archivebox.contract.reasons import Reason
from archivebox.contract.schema import SettingSpec, check_value, prefix, to_env
from archivebox.lib.jsonl import JSON

LAYERS = ("fleet", "file", "machine", "environment", "user", "persona", "crawl", "snapshot")
"""The layers above the two of defaults, lowest first.

``fleet``: what all machines share that share a database; ``file``: the data folder's ``ArchiveBox.conf``.
"""

DEFAULT_TIMEOUT = 60
"""Seconds, where a plugin has taken away its own default."""

_PLACES = {
    "fleet": "the settings of all machines",
    "file": "ArchiveBox.conf",
    "machine": "this machine's own settings",
    "environment": "the environment",
}
_CACHED = 256
"""Resolutions kept: crawls that a machine works on at a time are fewer."""


class SettingError(ValueError):
    """A setting whose value is not allowed; the message names it, where it was set, and what is allowed."""

    def __init__(self, layer: str, key: str, problem: str) -> None:
        remedy = f"; `archivebox config unset {key}` removes it" if layer in {"fleet", "machine"} else ""
        super().__init__(f"{problem} (set as {key} in {_PLACES.get(layer, f'the {layer}')}{remedy})")
        self.layer = layer
        self.key = key


@dataclass(frozen=True)
class Layer:
    """What one place says: setting names (or aliases) → text, or JSON values. None means "says nothing"."""

    name: str
    values: Mapping[str, JSON] = field(default_factory=dict)

    @cached_property
    def fingerprint(self) -> str:
        return json.dumps([self.name, sorted(self.values.items())], default=str)


class Resolved:
    """The settings that hold at one place: for a crawl, for a snapshot, for the machine."""

    def __init__(self, settings: "SettingsResolver", layers: Sequence[Layer]) -> None:
        self._settings = settings
        self._layers = layers
        self._environments: dict[str, dict[str, str]] = {}
        self._values: dict[str, JSON] = {}
        self._disabled: dict[str, str | None] = {}

    def get(self, name: str) -> JSON:
        """The value that holds; SettingError if it is not allowed, KeyError if there is no such setting."""
        if name not in self._values:
            self._values[name] = self._value_of(name)
        return self._values[name]

    def _value_of(self, name: str) -> JSON:
        spec = self._settings.specs[self._settings.canonical[name]]
        for value in (self._said(spec), self._fallback(spec)):
            if value is not None:
                return value
        if spec.default is False and spec.name in self._named:
            return True
        return spec.default if spec.default is not None else self._fallback_default(spec)

    def get_text(self, name: str) -> str:
        """The value as an environment would carry it; empty where nothing is set."""
        return to_env(self.get(name))

    def is_set(self, name: str) -> bool:
        """Whether there is a value, in any layer or by default; what no plugin that is here declares counts as set."""
        return name not in self._settings.canonical or bool(self.get_text(name))

    def is_given(self, name: str) -> bool:
        """Whether any layer sets a setting that a plugin which is here declares."""
        canonical = self._settings.canonical.get(name)
        return canonical is not None and self._said(self._settings.specs[canonical]) is not None

    def get_float(self, name: str) -> float:
        """The value of a setting that is a number and has a default; TypeError for another."""
        value = self.get(name)
        if not isinstance(value, int | float):
            raise TypeError(f"{name} is not a number")
        return float(value)

    def get_int(self, name: str) -> int:
        """The value of a setting that is a whole number and has a default; TypeError for another."""
        return int(self.get_float(name))

    def find_int(self, name: str) -> int | None:
        """The same of a setting without a default; None where nothing is set."""
        return None if self.get(name) is None else self.get_int(name)

    def get_flag(self, name: str) -> bool:
        """Whether a setting of type boolean is on."""
        return self.get(name) is True

    def get_list(self, name: str) -> tuple[str, ...]:
        """The value of a setting that is a list of texts."""
        value = self.get(name)
        return tuple(map(str, value)) if isinstance(value, list) else ()

    def _said(self, spec: SettingSpec) -> JSON:
        """What the highest layer that says something says."""
        for layer in reversed(self._layers):
            key, raw = _in_layer(layer, spec)
            if key:
                return _checked(layer, key, spec, raw)
        return None

    def _fallback(self, spec: SettingSpec) -> JSON:
        other = self._settings.specs.get(spec.fallback or "")
        return None if other is None or other is spec else self._said(other)

    def _fallback_default(self, spec: SettingSpec) -> JSON:
        other = self._settings.specs.get(spec.fallback or "")
        return None if other is None else other.default

    def explain(self, name: str) -> list[tuple[str, JSON]]:
        """Every layer that says something of ``name``, lowest first; the last one holds. Values as they were given."""
        spec = self._settings.specs[self._settings.canonical[name]]
        said: list[tuple[str, JSON]] = []
        other = self._settings.specs.get(spec.fallback or "")
        if spec.default is not None:
            said.append((self._settings.owners.get(spec.name, "default"), spec.default))
        elif other is not None:
            said.append((f"default of {other.name}", other.default))
        for source, suffix in ((other, f", by {spec.fallback}"), (spec, "")):
            if source is None:
                continue
            for layer in self._layers:
                key, raw = _in_layer(layer, source)
                if key:
                    said.append((layer.name + (suffix or ("" if key == spec.name else f", as {key}")), raw))
        return said

    def is_sensitive(self, name: str) -> bool:
        """Whether the value is a secret, which pages, logs and rows do not show."""
        canonical = self._settings.canonical.get(name)
        return canonical is not None and self._settings.specs[canonical].sensitive

    def redacted(self, values: Mapping[str, JSON]) -> dict[str, JSON]:
        """Settings without the values of those that are secret."""
        return {name: "***" if self.is_sensitive(name) else value for name, value in values.items()}

    def for_plugin(self, plugin: Plugin | str) -> dict[str, str]:
        """The settings that a plugin's hooks find in their environment, by canonical name.

        Its own, those that are not secret of the plugins it requires, and the shared ones. What is not set is left
        out. ``SAVE_<NAME>`` is added where the plugin has it as an alias: hooks of older collections read that.
        SettingError if one of them is not allowed.
        """
        name = plugin if isinstance(plugin, str) else plugin.name
        if name not in self._environments:
            self._environments[name] = self._environment(self._settings.plugins[name])
        return dict(self._environments[name])

    def _environment(self, plugin: Plugin) -> dict[str, str]:
        environment: dict[str, str] = {}
        for key in SHARED_SETTINGS:
            self._export(environment, CORE_SETTINGS[key])
        for required in plugin.required_plugins:
            if required in self._settings.plugins:
                for spec in self._settings.plugins[required].schema.settings.values():
                    if not spec.sensitive:
                        self._export(environment, spec)
        for spec in plugin.schema.settings.values():
            if not (plugin.only_installs and spec.name == f"{prefix(plugin.name)}_TIMEOUT"):
                self._export(environment, spec)
        self._export(environment, self._settings.specs[plugin.timeout_setting])
        return environment

    def _export(self, environment: dict[str, str], spec: SettingSpec) -> None:
        value = self.get(spec.name)
        if value is None:
            return
        for key in (spec.name, *(alias for alias in spec.aliases if alias.startswith("SAVE_"))):
            environment[key] = to_env(value)

    def timeout_for(self, hook: Hook) -> float:
        """Seconds that a hook may take: ``INSTALL_TIMEOUT`` for Binary hooks, else its plugin's time."""
        plugin = self._settings.plugins[hook.plugin]
        name = INSTALL_TIMEOUT if hook.name.event == "Binary" else plugin.timeout_setting
        return self.get_float(name) if self.get(name) else float(DEFAULT_TIMEOUT)

    @property
    def search_engine(self) -> str:
        """The engine that searches texts, ``auto`` being that of the database; empty: none does."""
        chosen = self.get_text("SEARCH_BACKEND_ENGINE")
        if chosen != "auto":
            return chosen
        return "postgresql" if self.get_text("DATABASE_URL") else "sqlite"

    def is_chosen(self, plugin: str) -> bool:
        """Whether the plugin is among those that ``PLUGINS`` names, or is required by one."""
        return plugin in self._wanted

    def is_enabled(self, plugin: Plugin | str) -> bool:
        """Whether a plugin's hooks run here."""
        return self.disabled_reason(plugin) is None

    def disabled_reason(self, plugin: Plugin | str) -> str | None:
        """Why a plugin's hooks do not run (a code with what it speaks of), or None if they do."""
        name = plugin if isinstance(plugin, str) else plugin.name
        if name not in self._disabled:
            self._disabled[name] = self._disabled_reason(self._settings.plugins[name])
        return self._disabled[name]

    def reason_to_skip(self, hook: Hook) -> str | None:
        """Why a hook does not run, as far as settings say; None if it does."""
        if hook.direct and self.get("ALLOW_DIRECT_NETWORK") is not True:
            return Reason.DIRECT_NETWORK.value
        return self.disabled_reason(hook.plugin)

    def _disabled_reason(self, found: Plugin) -> str | None:
        if not self.is_chosen(found.name):
            return Reason.NOT_CHOSEN.value
        if self.get(found.enabled_setting) is False:
            return Reason.DISABLED.of(found.enabled_setting)
        if found.search is not None and found.search.engine != self.search_engine:
            return Reason.OTHER_ENGINE.of(found.search.engine)
        for required in found.required_plugins:
            other = self._settings.plugins.get(required)
            if other is None or self.get(other.enabled_setting) is False:
                return Reason.MISSING_PLUGIN.of(required)
        return None

    @cached_property
    def _named(self) -> frozenset[str]:
        """The switches of the plugins that ``PLUGINS`` names: what is off by default alone is asked for by its name."""
        plugins = self._settings.plugins
        return frozenset(plugins[name].enabled_setting for name in self.get_list("PLUGINS") if name in plugins)

    @cached_property
    def _wanted(self) -> frozenset[str]:
        """The plugins that ``PLUGINS`` names, all they require, and the gates that are on; all if it names none."""
        plugins = self._settings.plugins
        stack = [name for name in self.get_list("PLUGINS") if name in plugins]
        if not self.get_list("PLUGINS"):
            return frozenset(plugins)
        gates = (plugin for plugin in plugins.values() if any(hook.gate for hook in plugin.hooks))
        stack.extend(gate.name for gate in gates if self.get(gate.enabled_setting) is not False)
        wanted: set[str] = set()
        while stack:
            name = stack.pop()
            if name not in wanted:
                wanted.add(name)
                stack.extend(required for required in plugins[name].required_plugins if required in plugins)
        return frozenset(wanted)

    @cached_property
    def unknown(self) -> tuple[tuple[str, str], ...]:
        """Return (layer, name) of each unknown setting; the environment has many other variables and is not checked."""
        return tuple(
            (layer.name, key)
            for layer in self._layers
            if layer.name != "environment"
            for key in layer.values
            if key not in self._settings.canonical
        )

    @cached_property
    def errors(self) -> tuple[SettingError, ...]:
        """Every value that is not allowed, in any layer."""
        found: list[SettingError] = []
        for layer in self._layers:
            for key, raw in layer.values.items():
                spec = self._settings.specs.get(self._settings.canonical.get(key, ""))
                if spec is None or not _speaks(spec, raw):
                    continue
                try:
                    _checked(layer, key, spec, raw)
                except SettingError as error:
                    found.append(error)
        return tuple(found)

    def check(self) -> None:
        """SettingError for the first value that is not allowed, in any layer."""
        for error in self.errors:
            raise error


def _in_layer(layer: Layer, spec: SettingSpec) -> tuple[str, JSON]:
    """The name under which a layer speaks of a setting, and what it says; the canonical name goes first."""
    for key in (spec.name, *spec.aliases):
        raw = layer.values.get(key)
        if _speaks(spec, raw):
            return key, raw
    return "", None


def _speaks(spec: SettingSpec, raw: JSON) -> bool:
    """``FOO=`` says something where text or a list is wanted, and nothing where it would only be an error."""
    return raw is not None and (raw != "" or spec.type in ("string", "array"))


def _checked(layer: Layer, key: str, spec: SettingSpec, raw: JSON) -> JSON:
    try:
        return check_value(spec, raw)
    except ValueError as error:
        raise SettingError(layer.name, key, str(error)) from None


class SettingsResolver:
    """The settings that exist with one set of plugins; resolves layers, and remembers what equal layers gave."""

    def __init__(self, plugins: Mapping[str, Plugin]) -> None:
        self.plugins = plugins
        self.specs: dict[str, SettingSpec] = dict(CORE_SETTINGS)
        self.owners: dict[str, str] = {}
        for plugin in plugins.values():
            for spec in plugin.schema.settings.values():
                if spec.name not in self.specs:
                    self.specs[spec.name] = spec
                    self.owners[spec.name] = f"default of the plugin {plugin.name}"
        aliases = {alias: spec.name for spec in self.specs.values() for alias in spec.aliases}
        self.canonical = aliases | {name: name for name in self.specs}
        self._resolved: dict[tuple[str, ...], Resolved] = {}

    def checked(self, values: Mapping[str, JSON]) -> dict[str, JSON]:
        """Those of ``values`` that are settings, by canonical name; ValueError for the first that is not allowed.

        None: it is to be unset. Other names are left out: a plugin that is added later may give them a meaning.
        """
        named = ((self.canonical[name], value) for name, value in values.items() if name in self.canonical)
        return {name: check_value(self.specs[name], value) for name, value in named}

    def resolve(self, layers: Sequence[Layer]) -> Resolved:
        """What holds when ``layers`` speak; given in any order. ValueError for a layer that does not exist."""
        for layer in layers:
            if layer.name not in LAYERS:
                raise ValueError(f"{layer.name!r} is none of the layers {', '.join(LAYERS)}")
        ordered = tuple(sorted(layers, key=lambda layer: LAYERS.index(layer.name)))
        key = tuple(layer.fingerprint for layer in ordered if layer.values)
        found = self._resolved.get(key)
        if found is None:
            if len(self._resolved) >= _CACHED:
                self._resolved.clear()
            found = self._resolved[key] = Resolved(self, ordered)
        return found


_latest: list[SettingsResolver] = []


def settings_of(plugins: Mapping[str, Plugin]) -> SettingsResolver:
    """The settings that exist with ``plugins``; a process has one set of plugins, which is remembered."""
    if not _latest or _latest[0].plugins is not plugins:
        _latest[:] = [SettingsResolver(plugins)]
    return _latest[0]


def resolve(plugins: Mapping[str, Plugin], layers: Sequence[Layer]) -> Resolved:
    """What holds with ``plugins`` when ``layers`` speak."""
    return settings_of(plugins).resolve(layers)
