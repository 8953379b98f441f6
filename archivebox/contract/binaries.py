"""Owns the programs that plugins ask for: `binaries.jsonl`, read and merged by program name."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from archivebox.lib import jsonl
from archivebox.lib.jsonl import JSON

FILE_NAMES = ("binaries.jsonl", "dependencies.jsonl")
"""The file of a plugin folder, and its older name."""

LONGEST_NAME = 128
"""Letters of a program's name: it becomes a folder, and a column."""
_PROGRAM = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_.@+/-]*", re.ASCII)
_FROM_SETTING = re.compile(r"\{([A-Z][A-Z0-9_]*)\}", re.ASCII)
_PROVIDER = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)

SAME_REGISTRY = {"pnpm": "npm", "uv": "pip"}
"""Providers that others name, and ours that install the same packages from the same place."""
_CHROMIUM: Mapping[str, JSON] = {
    "env": {"names": ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]},
    "apt": {"packages": ["chromium"]},
    "brew": {"packages": ["--cask", "chromium"]},
}
_NODE: Mapping[str, JSON] = {"env": {}, "apt": {"packages": ["nodejs"]}, "brew": {}}
SAME_PROGRAM: Mapping[tuple[str, str], Mapping[str, JSON]] = {
    **{(by, name): _CHROMIUM for by in ("puppeteer", "playwright") for name in ("chromium", "chrome")},
    ("node", "node"): _NODE,
}
"""Providers that others name for a program, and what ours are told that bring it from elsewhere."""


@dataclass(frozen=True, slots=True)
class BinaryRequest:
    """One program that a plugin needs.

    ``binproviders`` are tried in order; empty means any. ``overrides`` maps a provider to its options, such as
    ``{"apt": {"packages": ["nodejs"]}}``. ``optional``: looked for like any other, and done without where it is not to
    be had.
    """

    name: str
    binproviders: tuple[str, ...] = ()
    overrides: Mapping[str, JSON] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    optional: bool = False


def parse_binaries(path: Path) -> tuple[tuple[BinaryRequest, ...], tuple[str, ...]]:
    """The programs that a `binaries.jsonl` names, and a sentence for each line that names none.

    A file that is not there asks for nothing.
    """
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return (), ()
    except OSError as error:
        return (), (f"{path.name} cannot be read: {error.strerror}",)
    requests, warnings = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith((b"#", b"//")):
            continue
        try:
            requests.append(_with_lock_of(path.parent, parse_request(jsonl.loads(line))))
        except ValueError as error:
            warnings.append(f"{path.name} line {number} {error}, so it is left out")
    return tuple(requests), tuple(warnings)


def _with_lock_of(folder: Path, request: BinaryRequest) -> BinaryRequest:
    """The same where a lock file of the plugin is named by its whole path."""
    overrides: dict[str, JSON] = {}
    for provider, options in request.overrides.items():
        overrides[provider] = options
        if isinstance(options, dict) and isinstance(lock := options.get("lock"), str):
            overrides[provider] = {**options, "lock": str(folder / lock)}
    return replace(request, overrides=overrides)


def read_required(declared: JSON, defaults: Mapping[str, JSON]) -> tuple[tuple[BinaryRequest, ...], tuple[str, ...]]:
    """The programs of ``required_binaries`` in a ``config.json``, and a sentence for each entry that names none.

    The newer dialect writes ``{WGET_BINARY}`` for what a setting holds: ``defaults`` by setting.
    """
    requests, warnings = [], []
    for number, entry in enumerate(declared if isinstance(declared, list) else (), 1):
        try:
            requests.append(parse_request(_in_our_words(entry, defaults)))
        except ValueError as error:
            warnings.append(f'entry {number} of "required_binaries" {error}, so it is left out')
    return tuple(requests), tuple(warnings)


def _in_our_words(entry: JSON, defaults: Mapping[str, JSON]) -> dict[str, JSON] | None:
    if not isinstance(entry, dict):
        return None
    setting = _FROM_SETTING.fullmatch(str(entry.get("name")))
    name = defaults.get(setting[1]) if setting else entry.get("name")
    overrides = entry.get("overrides")
    if isinstance(overrides, dict):
        overrides = {provider: _our_options(options) for provider, options in overrides.items()}
    return {**entry, "name": name, "overrides": overrides}


def _our_options(options: JSON) -> JSON:
    """``install_args`` are packages and options in one list, where ``version`` repeats what a package says itself.

    ``postinstall_scripts`` lets packages run programs of theirs; an ``abspath`` of their own is that of a library.
    """
    if not isinstance(options, dict) or not isinstance(options.get("install_args"), list):
        return options
    words = [str(word) for word in _list(options["install_args"])]
    packages: list[JSON] = [word for word in words if not word.startswith("-")]
    named = {name: value for name, value in options.items() if name != "version"}
    said: dict[str, JSON] = {"scripts": options.get("postinstall_scripts") is True, "library": "abspath" in options}
    return {**named, "packages": packages, **{name: value for name, value in said.items() if value}}


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


def parse_request(record: Mapping[str, JSON] | None) -> BinaryRequest:
    """One Binary record as a request; ValueError with the rest of a sentence if it is none."""
    if record is None:
        raise ValueError("is not a JSON object")
    name = record.get("name", record.get("bin_name"))
    if not isinstance(name, str) or not _PROGRAM.fullmatch(name) or ".." in name or len(name) > LONGEST_NAME:
        raise ValueError("names no program")
    overrides = record.get("overrides") or {}
    if not isinstance(overrides, dict):
        raise ValueError("has overrides that are not an object")  # noqa: TRY004 - what callers catch for bad input
    binproviders = parse_binproviders(record.get("binproviders", record.get("bin_providers")))
    return BinaryRequest(name, binproviders, overrides, optional=record.get("optional") is True)


def parse_binproviders(value: JSON) -> tuple[str, ...]:
    """``"apt,pip"`` or ``["apt", "pip"]`` in order without doubles; ``*`` and nothing mean any provider."""
    if value is None:
        return ()
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list):
        raise ValueError("has binproviders that are not a list")  # noqa: TRY004 - what callers catch for bad input
    names = [name.strip() if isinstance(name, str) else "" for name in names if name != ""]
    if "*" in names:
        return ()
    wrong = [name for name in names if not _PROVIDER.fullmatch(name)]
    if wrong:
        raise ValueError("has a binprovider that is not a name")
    return tuple(dict.fromkeys(names))


def in_known_ways(request: BinaryRequest, known: Collection[str]) -> BinaryRequest:
    """The request in the words of the providers that there are.

    One that is not known here is passed over, and the program is optional: whoever asks may have a way of its own.
    Where none is left, the names stay as they are, which nobody answers to.
    """
    ways: dict[str, JSON] = {}
    elsewhere = False
    for name in request.binproviders:
        same = SAME_REGISTRY.get(name, name)
        if name in known or same in known:
            taken = name if name in known else same
            ways.setdefault(taken, request.overrides.get(taken, request.overrides.get(name)))
            continue
        elsewhere = True
        for other, options in SAME_PROGRAM.get((name, request.name), {}).items():
            if other in known:
                ways.setdefault(other, request.overrides.get(other, options))
    given = {name: options for name, options in ways.items() if options is not None}
    return replace(
        request,
        binproviders=tuple(ways) or request.binproviders,
        overrides={**request.overrides, **given},
        optional=request.optional or elsewhere,
    )


def merge(requests: Iterable[BinaryRequest]) -> tuple[dict[str, BinaryRequest], tuple[str, ...]]:
    """One request per program, and a sentence for each conflict; the earlier plugin wins.

    Providers: all may stay in the earlier order; a later plugin adds those that were not named. Overrides: per
    provider and option.
    """
    merged: dict[str, BinaryRequest] = {}
    conflicts: list[str] = []
    for request in requests:
        earlier = merged.get(request.name)
        merged[request.name] = request if earlier is None else _merge_two(earlier, request, conflicts)
    return merged, tuple(conflicts)


def _merge_two(first: BinaryRequest, second: BinaryRequest, conflicts: list[str]) -> BinaryRequest:
    if first.binproviders and second.binproviders and not set(first.binproviders) & set(second.binproviders):
        conflicts.append(
            f"{first.name}: one plugin wants {', '.join(first.binproviders)}, "
            f"another {', '.join(second.binproviders)}; they have no provider in common"
        )
    providers = tuple(dict.fromkeys(first.binproviders + second.binproviders))
    if not first.binproviders or not second.binproviders:
        providers = first.binproviders or second.binproviders
    overrides: dict[str, JSON] = dict(first.overrides)
    for provider, options in second.overrides.items():
        overrides[provider] = _merge_options(first.name, provider, overrides.get(provider), options, conflicts)
    return BinaryRequest(first.name, providers, overrides, optional=first.optional and second.optional)


def _merge_options(name: str, provider: str, first: JSON, second: JSON, conflicts: list[str]) -> JSON:
    if first is None or first == second:
        return second
    if not isinstance(first, dict) or not isinstance(second, dict):
        conflicts.append(f"{name}: two plugins have different overrides for {provider}")
        return first
    different = sorted(option for option in first.keys() & second.keys() if first[option] != second[option])
    conflicts.extend(f"{name}: two plugins set {provider}.{option} differently" for option in different)
    return {**second, **first}
