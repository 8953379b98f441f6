"""Owns judging plugins before they run: what their authors should correct.

Not imported by ``discovery``: the full check of a schema needs ``jsonschema``, which costs a start 60 ms.
"""

import json
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

from jsonschema import Draft7Validator
from jsonschema.exceptions import SchemaError

from archivebox.contract.binaries import merge
from archivebox.contract.discovery import NO_SEARCH, REPLACES, Plugin, discover_hooks
from archivebox.contract.hook import Hook
from archivebox.contract.hooknames import EVENTS
from archivebox.contract.ordering import names, waits
from archivebox.contract.schema import SettingSpec, prefix
from archivebox.lib.processes.launch import missing_interpreter

Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class LintMessage:
    """One thing to correct; ``hook`` is empty where it concerns the plugin as a whole."""

    plugin: str
    hook: str
    level: Level
    text: str


def lint(
    plugins: Mapping[str, Plugin], core_settings: Collection[str] = (), cut_off: Collection[str] = ()
) -> list[LintMessage]:
    """Everything wrong with ``plugins``, in their order; errors are what the engine has to ignore or work around.

    ``core_settings``: names of the application's own settings, which any plugin may read. ``cut_off``: digests of the
    hooks that were at work when they were told to stop.
    """
    messages = list(chain.from_iterable(_lint_plugin(plugin, plugins) for plugin in plugins.values()))
    messages.extend(_lint_cut_off(plugins, cut_off))
    messages.extend(_lint_order(plugins))
    messages.extend(_lint_settings(plugins, core_settings))
    messages.extend(_lint_binaries(plugins))
    return messages


def has_errors(messages: list[LintMessage]) -> bool:
    return any(message.level == "error" for message in messages)


def _lint_plugin(plugin: Plugin, plugins: Mapping[str, Plugin]) -> Iterator[LintMessage]:
    for warning in plugin.warnings:
        level: Level = "warning" if any(word in warning for word in ("has no number", REPLACES, NO_SEARCH)) else "error"
        yield LintMessage(plugin.name, "", level, warning)
    for required in plugin.required_plugins:
        if required not in plugins:
            yield LintMessage(plugin.name, "", "error", f"it requires the plugin {required}, which is not there")
    yield from _lint_schema(plugin)
    for hook in plugin.hooks:
        for level, text in _lint_hook(hook, plugins):
            yield LintMessage(plugin.name, hook.file_name, level, text)


def _lint_cut_off(plugins: Mapping[str, Plugin], cut_off: Collection[str]) -> Iterator[LintMessage]:
    text = (
        "it died of the TERM at the end, at its work, and counts as finite since then: call it .finite.bg.,"
        " or have it listen for TERM"
    )
    for hook in chain.from_iterable(plugin.hooks for plugin in plugins.values()):
        if hook.may_be_cut_off and hook.digest in cut_off:
            yield LintMessage(hook.plugin, hook.file_name, "warning", text)


def _lint_syntax(hook: Hook) -> str:
    """Why the script's own language refuses it, else nothing; nothing of it is run."""
    if hook.interpreter == "self":  # whichever language its first line names
        missing = missing_interpreter(hook.path)
        return f"its first line names an interpreter that is not there: {missing}" if missing else ""
    if hook.name.extension == "py":
        try:
            compile(hook.path.read_bytes(), hook.file_name, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return f"Python cannot read it: {error}"
        return ""
    checker = shutil.which("node") if hook.name.extension == "js" else "/bin/bash"
    if checker is None:
        return ""
    command = [checker, "--check" if hook.name.extension == "js" else "-n", str(hook.path)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    lines = [line for line in done.stderr.splitlines() if "rror" in line] or done.stderr.splitlines()
    return f"{Path(checker).name} cannot read it: {lines[0]}" if done.returncode and lines else ""


def _lint_schema(plugin: Plugin) -> Iterator[LintMessage]:
    path = plugin.path / "config.json"
    try:
        config = json.loads(path.read_bytes())
        Draft7Validator.check_schema(config)
    except FileNotFoundError:
        return
    except SchemaError as error:
        where = "/".join(map(str, error.path)) or "its top"
        yield LintMessage(
            plugin.name, "", "error", f"config.json is not a JSON Schema (draft 7) at {where}: {error.message}"
        )
    except (OSError, ValueError):
        return  # already among the warnings of the plugin


def _lint_hook(hook: Hook, plugins: Mapping[str, Plugin]) -> Iterator[tuple[Level, str]]:
    name = hook.name
    if problem := _lint_syntax(hook):
        yield "error", problem
    if name.background and name.event == "Snapshot" and name.step == 5:
        yield "error", "hooks of step 5 change the page and put it back, so none may run in the background"
    if name.daemon and hook.finite:
        yield "error", "a daemon works until told to stop, so it cannot be finite"
    if hook.finite and not name.background:
        yield "warning", "finite says something of background hooks only"
    if hook.ready and not (name.background or hook.page):
        yield "warning", "ready says something only of background hooks, and of those that need the page"
    if hook.argv is not None and not hook.argv and name.event != "CrawlEnd":
        yield "warning", "it accepts none of the engine's options, not even the URL"
    known = frozenset(chain.from_iterable(names(other) for plugin in plugins.values() for other in plugin.hooks))
    for wanted in hook.after:
        if wanted not in known | plugins.keys():
            yield "warning", f"it is after {wanted}, which is not there"


def _lint_order(plugins: Mapping[str, Plugin]) -> Iterator[LintMessage]:
    for event in EVENTS:
        for warning in waits(discover_hooks(plugins, event)).warnings:
            plugin, _, rest = warning.partition("/")
            yield LintMessage(plugin, rest.partition(" ")[0], "error", rest)


def _lint_settings(plugins: Mapping[str, Plugin], core_settings: Collection[str]) -> Iterator[LintMessage]:
    """One name, one meaning: also among the aliases."""
    owners: dict[str, tuple[Plugin, SettingSpec]] = {}
    for plugin in plugins.values():
        for spec in plugin.schema.settings.values():
            if spec.name in core_settings:
                continue
            for name in (spec.name, *spec.aliases):
                owner, earlier = owners.setdefault(name, (plugin, spec))
                if owner is not plugin and (earlier.name, earlier.type) != (spec.name, spec.type):
                    text = f"{name} means something else in the plugin {owner.name}"
                    yield LintMessage(plugin.name, "", "error", text)
            if not spec.name.startswith(_own_prefixes(plugin)):
                yield LintMessage(plugin.name, "", "warning", f"{spec.name} does not begin with {prefix(plugin.name)}_")


def _own_prefixes(plugin: Plugin) -> tuple[str, ...]:
    """How its settings may begin: as itself, as what it requires, as a program that it needs."""
    names = (plugin.name, *plugin.required_plugins)
    return (*(f"{prefix(name)}_" for name in names), *(f"{prefix(one.name)}_BINARY" for one in plugin.binaries))


def _lint_binaries(plugins: Mapping[str, Plugin]) -> Iterator[LintMessage]:
    _, conflicts = merge(chain.from_iterable(plugin.binaries for plugin in plugins.values()))
    for conflict in conflicts:
        program = conflict.partition(":")[0]
        askers = [plugin.name for plugin in plugins.values() if program in {asked.name for asked in plugin.binaries}]
        yield LintMessage(askers[-1], "", "error", conflict)
