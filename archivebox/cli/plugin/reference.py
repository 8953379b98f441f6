"""Owns `archivebox plugin reference`: what plugins save, when they run, and their settings, as Markdown."""

from collections.abc import Iterable, Iterator

from archivebox.cli.plugin.body import find_plugin
from archivebox.cli.session import Session
from archivebox.contract.applies import CONDITIONS
from archivebox.contract.discovery import Plugin
from archivebox.contract.hook import Hook
from archivebox.contract.schema import SettingSpec, standard_properties, to_env
from archivebox.hooks import plugins
from archivebox.lib.jsonl import JSON

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
