"""Owns the settings a plugin declares: their specification, and text turned into values and back."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from archivebox.lib.jsonl import JSON
from archivebox.lib.patterns import compile_patterns

TYPES = ("boolean", "integer", "number", "string", "array", "object")
TRUE_WORDS = frozenset({"true", "1", "yes", "on", "y", "t"})
FALSE_WORDS = frozenset({"false", "0", "no", "off", "n", "f"})
_SETTING_NAME = re.compile(r"[A-Z][A-Z0-9_]*", re.ASCII)
_LOCAL_NAME = re.compile(
    r"(?:^|_)(?:BINARY|ARGS|ARGS_EXTRA|DIR|FILES?|EXTENSIONS?)$"  # programs, their options, places
    r"|_(?:(?<!^BASE_)(?<!^REPLAY_)URL|ENDPOINT|HOST_NAME|PORT|ISSUER)$"  # who is asked
    r"|^(?:MACHINE_ID|TRUSTED_PROXIES|REVERSE_PROXY_USER_HEADER)$",  # who is believed
    re.ASCII,
)
_MACHINE_NAME = re.compile(r"(?:^|_)(?:BINARY|DIR|FILE|ADDR)$|^DATABASE_URL$|^MACHINE_ID$", re.ASCII)
_SENSITIVE_NAME = re.compile(r"(PASSWORD|SECRET|TOKEN|API_KEY|PRIVATE_KEY|CREDENTIALS?|COOKIES)$", re.ASCII)


class Scope(StrEnum):
    """What a setting may be set for, at the least."""

    CRAWL = "crawl"
    MACHINE = "machine"
    COLLECTION = "collection"


@dataclass(frozen=True, slots=True)
class SettingSpec:
    """One setting: its type (a JSON Schema type name), its default, and what is allowed."""

    name: str
    type: str = "string"
    default: JSON = None
    description: str = ""
    aliases: tuple[str, ...] = ()
    fallback: str | None = None
    enum: tuple[JSON, ...] = ()
    items: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    pattern: str | None = None
    nullable: bool = False
    sensitive: bool = False
    identity: bool = False
    """Says to the sites that are visited who somebody is: cookies, a profile, headers."""
    are_patterns: bool = False
    """Whether it holds regular expressions, one a line, by which URLs are judged."""
    title: str = ""
    """What people call it; empty: what its name says."""
    scope: Scope = Scope.CRAWL
    """What reads it: the work on one crawl, or what a machine or the collection does for all of them."""
    parse: Callable[[Any], object] | None = field(default=None, compare=False)
    """What reads the value where it is used, and raises ValueError for what it cannot read."""

    @property
    def is_local(self) -> bool:
        """Whether it is set from a terminal alone.

        It names a program, its options, or a place on the machine: who sets it can run anything there. Or it names
        whom we ask: who sets it is sent the password that goes with it. Or whose word on who has logged in is taken:
        who sets it logs in as anybody.
        """
        return self.type != "boolean" and bool(_LOCAL_NAME.search(self.name))

    @property
    def of_machine(self) -> bool:
        """Whether it is each machine's own: a place or an address there, or what leads to the database."""
        return is_of_machine(self.name)

    @property
    def refusal_for_crawl(self) -> str:
        """Why no crawl can have a value of its own, and what to do; empty where it can."""
        if self.scope is Scope.CRAWL:
            return ""
        owner = "this machine" if self.scope is Scope.MACHINE else "the collection"
        return f"{self.name} is a setting of {owner}: set it with `archivebox config set {self.name}=…`."

    @property
    def sentence(self) -> str:
        """Its description with a full stop, which some plugins' have and others' have not."""
        return self.description if self.description.endswith(".") else f"{self.description}."

    def allowed(self) -> str:
        """What may be set, in words: ``a whole number from 1 to 3600``."""
        if self.enum:
            return "one of " + ", ".join(to_env(value) for value in self.enum)
        words = _WORDS[self.type]
        if self.items and self.type == "array":
            words = f"a list of {self.items}s, separated by commas or as JSON"
        if self.pattern:
            words += f" that matches {self.pattern}"
        return words + self._range()

    def _range(self) -> str:
        if self.minimum is not None and self.maximum is not None:
            return f" from {self.minimum:g} to {self.maximum:g}"
        if self.minimum is not None:
            return f" of at least {self.minimum:g}"
        return "" if self.maximum is None else f" of at most {self.maximum:g}"


_WORDS = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "array": "a list, separated by commas or as JSON",
    "object": "a JSON object",
}


def is_of_machine(name: str) -> bool:
    """As :attr:`SettingSpec.of_machine`, of a setting of this name."""
    return bool(_MACHINE_NAME.search(name))


@dataclass(frozen=True, slots=True)
class PluginSchema:
    """The settings of one plugin, by name."""

    settings: Mapping[str, SettingSpec] = field(default_factory=lambda: MappingProxyType({}))

    def canonical(self) -> dict[str, str]:
        """Every name a setting may be given under, the canonical one included → the canonical one."""
        names = {alias: spec.name for spec in self.settings.values() for alias in spec.aliases}
        return names | {name: name for name in self.settings}


def prefix(plugin: str) -> str:
    """What the settings of a plugin begin with: ``parse_html_urls`` → ``PARSE_HTML_URLS``."""
    return re.sub(r"[^A-Z0-9]+", "_", plugin.upper())


def read_schema(
    plugin: str, config: Mapping[str, JSON], programs: Sequence[str] = ()
) -> tuple[PluginSchema, tuple[str, ...]]:
    """The settings that a ``config.json`` declares and a sentence for each it declares wrongly.

    Those of :func:`standard_properties` exist for every plugin; what is declared of one is put over it, key by key.
    ``programs``: the names in its ``binaries.jsonl``.
    """
    warnings: list[str] = []
    declared = config.get("properties", {})
    if not isinstance(declared, dict):
        warnings.append('"properties" is not an object, so the plugin has only its standard settings')
        declared = {}
    standard = standard_properties(plugin, str(config.get("title") or ""), programs)
    if "x-scope" in config:  # of all of them
        standard = {name: {"x-scope": config["x-scope"], **one} for name, one in standard.items()}
    settings = {name: read_setting(name, properties) for name, properties in standard.items()}
    for name, properties in declared.items():
        try:
            settings[name] = _read_over(name, properties, standard.get(name))
        except ValueError as error:
            warnings.append(
                f"{error}; the setting is left {'as it is for every plugin' if name in standard else 'out'}"
            )
    return PluginSchema(MappingProxyType(settings)), tuple(warnings)


def standard_properties(plugin: str, title: str = "", programs: Sequence[str] = ()) -> dict[str, dict[str, JSON]]:
    """The settings that every plugin has by itself, as JSON Schema; the last three where it runs a program."""
    name = prefix(plugin)
    texts: JSON = {"type": "string"}
    found: dict[str, dict[str, JSON]] = {
        f"{name}_ENABLED": {
            "type": "boolean",
            "default": True,
            "x-aliases": [f"SAVE_{name}"],
            "description": f"Run {plugin}: {title}" if title else f"Run the {plugin} plugin",
        },
        f"{name}_TIMEOUT": {
            "type": "number",
            "minimum": 1,
            "x-fallback": "TIMEOUT",
            "description": f"Seconds that a hook of {plugin} may take",
        },
    }
    if programs:
        found |= {
            f"{name}_BINARY": {
                "type": "string",
                "default": programs[0],
                "description": "The program to run: name or path",
            },
            f"{name}_ARGS": {
                "type": "array", "items": texts, "default": [], "description": "Options that are always passed to it"
            },
            f"{name}_ARGS_EXTRA": {
                "type": "array",
                "items": texts,
                "default": [],
                "x-aliases": [f"{name}_EXTRA_ARGS"],
                "description": "Further options for the program, after all others",
            },
        }  # fmt: skip
    return found


def _read_over(name: str, declared: JSON, standard: Mapping[str, JSON] | None) -> SettingSpec:
    """A declared setting, put over the standard one of its name; one of another type would break the engine."""
    if standard is None or not isinstance(declared, dict):
        return read_setting(name, declared)
    if not _is_same_kind(declared.get("type", standard["type"]), standard["type"]):
        return read_setting(name, dict(standard))
    aliases = dict.fromkeys([*string_list(standard.get("x-aliases")), *string_list(declared.get("x-aliases"))])
    kept = {key: value for key, value in standard.items() if key != "x-fallback" or "default" not in declared}
    return read_setting(name, {**kept, **declared, "x-aliases": list(aliases)})


def _is_same_kind(kind: JSON, standard: JSON) -> bool:
    return kind == standard or {str(kind), str(standard)} == {"integer", "number"}


def read_setting(name: str, declared: JSON) -> SettingSpec:
    """One property of a JSON Schema as a ``SettingSpec``; ValueError with a sentence if it is none."""
    if not _SETTING_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a setting's name (capital letters, digits and _)")
    if not isinstance(declared, dict):
        raise ValueError(f"{name} is not described by an object")  # noqa: TRY004 - what callers catch for bad input
    kind, nullable = _type_of(name, declared)
    items = declared.get("items")
    item_type = items.get("type") if isinstance(items, dict) else None
    fallback, pattern = declared.get("x-fallback"), declared.get("pattern")
    spec = SettingSpec(
        name=name,
        type=kind,
        default=declared.get("default"),
        description=str(declared.get("description", "")),
        title=str(declared.get("title") or ""),
        aliases=tuple(alias for alias in string_list(declared.get("x-aliases")) if alias != name),
        fallback=fallback if isinstance(fallback, str) else None,
        enum=_enum_of(declared),
        items=item_type if isinstance(item_type, str) else None,
        minimum=_bound(declared.get("minimum")),
        maximum=_bound(declared.get("maximum")),
        pattern=pattern if isinstance(pattern, str) and _compiles(pattern) else None,
        nullable=nullable,
        sensitive=declared.get("x-sensitive") is True or bool(_SENSITIVE_NAME.search(name)),
        identity=declared.get("x-identity") is True,
        scope=_scope_of(name, declared),
    )
    if spec.default is not None:
        check_value(spec, spec.default)
    return spec


def _scope_of(name: str, declared: Mapping[str, JSON]) -> Scope:
    scope = declared.get("x-scope", Scope.CRAWL)
    if scope not in set(Scope):
        raise ValueError(f"{name} has the x-scope {json.dumps(scope)}, which is none of {', '.join(Scope)}")
    return Scope(str(scope))


def _enum_of(declared: Mapping[str, JSON]) -> tuple[JSON, ...]:
    enum = declared.get("enum")
    return tuple(enum) if isinstance(enum, list) else ()


def _type_of(name: str, declared: Mapping[str, JSON]) -> tuple[str, bool]:
    kind = declared.get("type", "string")
    kinds = [str(item) for item in kind] if isinstance(kind, list) else [kind if isinstance(kind, str) else ""]
    real = [item for item in kinds if item != "null"]
    if len(real) != 1 or real[0] not in TYPES:
        raise ValueError(f"{name} has the type {json.dumps(kind)}, which is none of {', '.join(TYPES)}")
    return real[0], "null" in kinds


def string_list(value: JSON) -> tuple[str, ...]:
    """The strings of a JSON list, or of a single string; nothing for anything else."""
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _bound(value: JSON) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def parse_value(spec: SettingSpec, text: str) -> JSON:
    """``text`` (environment, conf file, form) as the value it means; ValueError says what is allowed.

    A boolean may have other values in its ``enum``, which are words.
    """
    stripped = text.strip()
    if spec.type != "string" and stripped in spec.enum:
        return stripped
    if spec.nullable and stripped.lower() in ("", "null", "none"):
        return None
    if spec.type == "string":
        return check_value(spec, text)
    try:
        value = _PARSERS[spec.type](stripped)
    except ValueError:
        raise _refusal(spec, text) from None
    return check_value(spec, value)


def _parse_boolean(text: str) -> JSON:
    word = text.lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ValueError(text)


def _parse_integer(text: str) -> JSON:
    if not re.fullmatch(r"[+-]?\d{1,18}", text, re.ASCII):
        raise ValueError(text)
    return int(text)


def _parse_number(text: str) -> JSON:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return int(number) if number.is_integer() and "." not in text and "e" not in text.lower() else number


def _parse_array(text: str) -> JSON:
    if text.startswith("["):
        return _load(text)
    return [part.strip() for part in text.split(",") if part.strip()]


def _load(text: str) -> JSON:
    try:
        value: JSON = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


_PARSERS = {
    "boolean": _parse_boolean,
    "integer": _parse_integer,
    "number": _parse_number,
    "array": _parse_array,
    "object": _load,
}


def check_value(spec: SettingSpec, value: JSON) -> JSON:
    """``value`` if the specification allows it, text parsed by type; ValueError says what is allowed instead.

    None means "not set" and passes for every type.
    """
    if value is None:
        return None
    if isinstance(value, str) and spec.type != "string":
        return parse_value(spec, value)
    if not _is_of_type(spec.type, value):
        raise _refusal(spec, value)
    if isinstance(value, list) and spec.items:
        value = [_check_item(spec, item) for item in value]
    if not _is_carried_by_environment(to_env(value)):
        raise ValueError(f"{spec.name} holds a NUL or broken characters, which no environment can carry")
    if spec.enum and value not in spec.enum:
        raise _refusal(spec, value)
    if isinstance(value, str) and spec.pattern and not re.search(spec.pattern, value):
        raise _refusal(spec, value)
    if isinstance(value, str) and spec.are_patterns:
        compile_patterns(value)
    if spec.parse is not None and value:
        spec.parse(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and not _is_in_range(spec, value):
        raise _refusal(spec, value)
    return value


def _check_item(spec: SettingSpec, item: JSON) -> JSON:
    item_spec = SettingSpec(f"an item of {spec.name}", spec.items if spec.items in TYPES else "string")
    return check_value(item_spec, item)


def _is_of_type(kind: str, value: JSON) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer":
        return isinstance(value, int)
    if kind == "number":
        return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return isinstance(value, {"string": str, "array": list, "object": dict}.get(kind, bool))


def _is_in_range(spec: SettingSpec, value: float) -> bool:
    return (spec.minimum is None or value >= spec.minimum) and (spec.maximum is None or value <= spec.maximum)


def _is_carried_by_environment(text: str) -> bool:
    try:
        return b"\0" not in text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False


def _refusal(spec: SettingSpec, value: JSON) -> ValueError:
    shown = "a secret value" if spec.sensitive else repr(value)[:80]
    return ValueError(f"{spec.name} cannot be {shown}: it takes {spec.allowed()}")


def to_env(value: JSON) -> str:
    """A value as a hook finds it in its environment: bool ``true|false``, list and dict JSON, None empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return str(value)
