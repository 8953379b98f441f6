"""Carries out `archivebox plugin`: looking at plugins, and checking those that people write."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from archivebox.cli import settings
from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Column
from archivebox.cli.session import Session
from archivebox.config.core import CORE_SETTINGS
from archivebox.contract import reasons
from archivebox.contract.applies import CONDITIONS
from archivebox.contract.discovery import Plugin, read_plugin
from archivebox.contract.hook import Hook
from archivebox.contract.lint import has_errors, lint
from archivebox.contract.schema import SettingSpec, standard_properties, to_env
from archivebox.hooks import known_finite_hooks, plugins
from archivebox.lib.jsonl import JSON

LISTED = (
    Column("plugin", "name"),
    Column("on", "enabled"),
    Column("from", "source"),
    Column("hooks", lambda record: len(_list(record["hooks"])), right=True),
    Column("programs", "binaries"),
    Column("why not", "reason", wraps=True),
    Column("to correct", lambda record: "; ".join(map(str, _list(record["warnings"]))), wraps=True),
)
HOOKS = (
    Column("hook", "file_name"),
    Column("event", "event"),
    Column("step", "step", right=True),
    Column("in the background", "background"),
)
SETTINGS = (Column("setting", "name"), Column("default", "default"), Column("what it is", "description", wraps=True))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def list_(session: Session) -> int:
    resolved = settings.current(is_collection=session.is_collection)
    records = []
    for plugin in plugins().values():
        code = resolved.disabled_reason(plugin)
        record = {
            "type": "Plugin",
            "name": plugin.name,
            "enabled": code is None,
            "source": plugin.source,
            "path": str(plugin.path),
            "hooks": [hook.file_name for hook in plugin.hooks],
            "binaries": [asked.name for asked in plugin.binaries],
            "reason": reasons.sentence(code) if code else "",
            "warnings": list(plugin.warnings),
        }
        records.append(record)
    session.out.table(LISTED, records)
    return 0


def show(session: Session, *, name: str) -> int:
    plugin = find_plugin(name)
    record = {
        "type": "Plugin",
        "name": plugin.name,
        "title": plugin.title,
        "description": plugin.description,
        "source": plugin.source,
        "path": str(plugin.path),
        "required_plugins": list(plugin.required_plugins),
        "output_mimetypes": list(plugin.output_mimetypes),
        "binaries": [asked.name for asked in plugin.binaries],
        "warnings": list(plugin.warnings),
    }
    labels = {
        "name": "plugin", "title": "title", "description": "what it does", "source": "from", "path": "folder",
        "required_plugins": "needs the plugins", "binaries": "needs the programs", "output_mimetypes": "makes",
        "warnings": "to correct",
    }  # fmt: skip
    session.out.facts(record, labels)
    session.out.table(HOOKS, (_hook_record(hook) for hook in plugin.hooks))
    specs = plugin.schema.settings.values()
    rows = ({"type": "Setting", "name": s.name, "default": s.default, "description": s.description} for s in specs)
    session.out.table(SETTINGS, rows)
    return 0


def _hook_record(hook: Hook) -> dict[str, object]:
    return {
        "type": "Hook",
        "plugin": hook.plugin,
        "file_name": hook.file_name,
        "event": hook.name.event,
        "step": hook.step,
        "background": hook.background,
        "exclusive": list(hook.exclusive),
        "after": list(hook.after),
    }


def find_plugin(name: str) -> Plugin:
    names = settings.plugin_names(name)
    if len(names) != 1:
        raise BadInputError("Name one plugin. `archivebox plugin list` shows all plugins.")
    return plugins()[names[0]]


# --- checking -------------------------------------------------------------------------------------------------


def lint_(session: Session, *, names: tuple[str, ...]) -> int:
    """Status 1 if the engine has to ignore or work around something."""
    known = dict(plugins())
    chosen = set(known)
    if names:
        chosen = set()
        for name, plugin in _named(names):
            known[name] = plugin
            chosen.add(name)
    messages = [message for message in lint(known, CORE_SETTINGS, known_finite_hooks()) if message.plugin in chosen]
    records = (
        {"type": "LintMessage", "plugin": m.plugin, "hook": m.hook, "level": m.level, "text": m.text} for m in messages
    )
    columns = (Column("plugin", "plugin"), Column("hook", "hook"), Column("level", "level"))
    session.out.table((*columns, Column("what", "text", wraps=True)), records, empty="Nothing to correct.")
    return 1 if has_errors(messages) else 0


def _named(names: tuple[str, ...]) -> Iterator[tuple[str, Plugin]]:
    """Plugins by name, or by folder: one that is being written need not be installed."""
    for name in names:
        folder = Path(name)
        if "/" not in name and name in plugins():
            yield name, plugins()[name]
            continue
        plugin = read_plugin(folder.resolve().name, folder.resolve()) if folder.is_dir() else None
        if plugin is None:
            raise BadInputError(f"{name} is neither a plugin nor a folder that holds one.")
        yield plugin.name, plugin


HEAD = """# Plugins

What each plugin saves, when its hooks run, and its settings. `make docs` writes this page from
the plugins' `config.json`. `archivebox config set NAME=VALUE` changes a setting for all crawls,
`archivebox add --config NAME=VALUE` for one.

Every plugin has the settings `<NAME>_ENABLED` (also `SAVE_<NAME>`), which turns it on and off, and `<NAME>_TIMEOUT` in
seconds (default: `TIMEOUT`). Plugins that need programs also have `<NAME>_BINARY`, `<NAME>_ARGS` and
`<NAME>_ARGS_EXTRA`. They are listed below only if a plugin gives them another meaning or default.

Plugins that work on pages come first, in the order of their first hooks; then those that install programs.
"""
CONDITION_NAMES = {"url": "URL", "mime": "media type", "status": "HTTP status"}
MOST_DEFAULT = 60
"""Characters of a default that are shown; `archivebox config get` prints all of it."""


def reference(session: Session, *, names: tuple[str, ...]) -> int:
    chosen = [find_plugin(name) for name in names] or list(plugins().values())
    session.out.text(document(chosen))
    return 0


def document(chosen: Iterable[Plugin]) -> str:
    """Those that work on pages in the order in which they do, then those that install programs."""
    return "\n".join([HEAD, *("\n".join(_section(plugin)) for plugin in sorted(chosen, key=_order))])


def _order(plugin: Plugin) -> tuple[bool, str, str]:
    """By the first hook on a page; one that has none works before any of them."""
    numbers = [hook.file_name for hook in plugin.hooks if hook.name.event == "Snapshot"]
    return plugin.only_installs, min(numbers, default=""), plugin.name


def _section(plugin: Plugin) -> Iterator[str]:
    yield f"## {plugin.name}\n"
    yield f"{_sentence(plugin)}\n"
    for hook in plugin.hooks:
        yield f"* `{hook.file_name}`: {_when(hook)}"
    if plugin.binaries:
        yield f"* needs {', '.join(_program(plugin))}"
    if plugin.required_plugins:
        yield f"* requires {', '.join(plugin.required_plugins)}"
    if plugin.outputs:
        yield f"* saves {', '.join(f'`{output.file}` ({output.role})' for output in plugin.outputs)}"
    yield from _settings(plugin)
    yield ""


def _sentence(plugin: Plugin) -> str:
    enabled = plugin.schema.settings[plugin.enabled_setting]
    said = plugin.description or plugin.title or plugin.name
    said = said if said.endswith(".") else f"{said}."
    return said if enabled.default else f"{said} Off by default."


def _when(hook: Hook) -> str:
    event = hook.name.event
    if event == "Binary":
        return "for each missing program"
    step = f"step {hook.step}" if event in {"Crawl", "Snapshot"} else "at the end"
    applies = [f"the {CONDITION_NAMES[name]} matches `{pattern}`" for name, pattern in _conditions(hook)]
    if files := [f"`{name}`" for name, _ in hook.applies.contains]:
        applies.append(f"{' or '.join(files)} contains what it looks for")
    applies += [f"`{name}` does not exist" for name in hook.applies.absent]
    background = ", in the background" if hook.background else ""
    return f"{step}{background}" + (f", if {' and '.join(applies)}" if applies else "")


def _conditions(hook: Hook) -> Iterator[tuple[str, str]]:
    for name in CONDITIONS:
        pattern = getattr(hook.applies, name)
        if pattern is not None:
            yield name, pattern.pattern


def _program(plugin: Plugin) -> Iterator[str]:
    for asked in plugin.binaries:
        by = f" (from {', '.join(asked.binproviders)})" if asked.binproviders else ""
        yield f"{asked.name}{by}{', optional' if asked.optional else ''}"


def _settings(plugin: Plugin) -> Iterator[str]:
    standard = standard_properties(plugin.name, plugin.title, [asked.name for asked in plugin.binaries])
    own = [spec for spec in plugin.schema.settings.values() if _is_own(spec, standard.get(spec.name))]
    if own:
        yield "\n| setting | default | description |\n|---|---|---|"
    for spec in own:
        yield f"| `{spec.name}` | {_default(spec)} | {_what(spec)} |"


def _is_own(spec: SettingSpec, standard: dict[str, JSON] | None) -> bool:
    """Whether a plugin says something of a setting that does not hold of every plugin."""
    return standard is None or (spec.description, spec.default) != (standard["description"], standard.get("default"))


def _default(spec: SettingSpec) -> str:
    if spec.fallback:
        return f"`{spec.fallback}`" if spec.default is None else f"`{spec.fallback}`, else {_shown(spec)}"
    return _shown(spec)


def _shown(spec: SettingSpec) -> str:
    text = to_env(spec.default) if spec.default not in (None, "", [], {}) else ""
    if not text:
        return "none"
    return f"`{text}`" if len(text) <= MOST_DEFAULT else f"`{text[:MOST_DEFAULT]}…`"


def _what(spec: SettingSpec) -> str:
    others = [f"`{alias}`" for alias in spec.aliases if alias != f"SAVE_{spec.name.removesuffix('_ENABLED')}"]
    return (spec.sentence + (f" Also {', '.join(others)}." if others else "")).replace("|", "\\|")
