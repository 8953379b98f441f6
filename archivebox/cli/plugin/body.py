"""Owns `archivebox plugin`: looking at plugins, and checking those that people write."""

from collections.abc import Iterator
from pathlib import Path

from archivebox.cli import settings
from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Column
from archivebox.cli.session import Session
from archivebox.config.core import CORE_SETTINGS
from archivebox.contract import reasons
from archivebox.contract.discovery import Plugin, read_plugin
from archivebox.contract.hook import Hook
from archivebox.contract.lint import has_errors, lint
from archivebox.hooks import known_finite_hooks, plugins

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
