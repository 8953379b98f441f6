"""What authors of plugins are told."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from archivebox.config.core import CORE_SETTINGS
from archivebox.contract.discovery import discover_plugins
from archivebox.contract.lint import has_errors, lint


def judge(tmp_path: Path, plugins: dict[str, dict[str, object]]) -> list[tuple[str, str, str]]:
    """Plugins given as file name → content → (plugin, level, text) of each message."""
    for plugin, files in plugins.items():
        (tmp_path / plugin).mkdir()
        for name, content in files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            (tmp_path / plugin / name).write_text(text)
    messages = lint(discover_plugins(tmp_path, bundled=tmp_path / "none"))
    assert has_errors(messages) is any(message.level == "error" for message in messages)
    return [(message.plugin, message.level, message.text) for message in messages]


def test_a_good_plugin_is_passed_in_silence(tmp_path: Path) -> None:
    config = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"P_ENABLED": {"type": "boolean", "default": True, "x-aliases": ["SAVE_P"]}},
        "x-hooks": {"on_Snapshot__61_p.py": {"after": ["tab"]}, "on_Snapshot__20_tab.bg.py": {"ready": True}},
    }
    hooks = {"on_Snapshot__61_p.py": "", "on_Snapshot__20_tab.bg.py": "", "on_Binary__any.py": ""}
    assert judge(tmp_path, {"p": {"config.json": config, "binaries.jsonl": '{"name": "wget"}', **hooks}}) == []


def test_our_own_plugins_are_passed_in_silence(tmp_path: Path) -> None:
    """So that what one reads there is of one's own."""
    assert lint(discover_plugins(tmp_path), core_settings=CORE_SETTINGS) == []


@pytest.mark.parametrize(
    ("files", "level", "text"),
    [
        ({"on_Snapshot__51_x.bg.py": ""}, "error", "step 5"),
        ({"on_Snapshot__x.py": ""}, "warning", "no number"),
        ({"on_Nothing__10_x.py": ""}, "error", "not a hook's name"),
        ({"config.json": "{"}, "error", "cannot be read"),
        ({"config.json": {"properties": {"P_X": {"type": "text"}}}}, "error", "P_X"),
        ({"config.json": {"properties": {"P_X": {"type": "string", "minLength": -1}}}}, "error", "draft 7"),
        ({"config.json": {"properties": {"OTHER_X": {"type": "string"}}}}, "warning", "does not begin with P_"),
        ({"config.json": {"properties": {"P_X": {"type": "integer", "default": "a"}}}}, "error", "P_X cannot be"),
        ({"config.json": {"required_plugins": ["gone"]}}, "error", "requires the plugin gone"),
        ({"config.json": {"x-hooks": {"on_Snapshot__61_gone.py": {}}}}, "error", "not there"),
        ({"binaries.jsonl": "{}"}, "error", "line 1"),
        ({"on_Snapshot__61_x.py": "import click\n@click.command()"}, "warning", "none of the engine's options"),
    ],
)
def test_each_mistake_has_its_message(tmp_path: Path, files: dict[str, object], level: str, text: str) -> None:
    assert any(found == level and text in message for _, found, message in judge(tmp_path, {"p": files}))


@pytest.mark.parametrize(
    ("name", "metadata", "level", "text"),
    [
        ("on_Snapshot__20_x.daemon.bg.py", {"finite": True}, "error", "daemon"),
        ("on_Snapshot__61_x.py", {"finite": True}, "warning", "finite"),
        ("on_Snapshot__61_x.py", {"ready": True}, "warning", "ready"),
        ("on_Snapshot__61_x.py", {"after": ["gone"]}, "warning", "gone"),
        ("on_Snapshot__61_x.py", {"after": ["later"]}, "error", "later step"),
        ("on_Snapshot__70_later.py", {"after": ["circle"]}, "error", "in turn waits"),
        ("on_Snapshot__61_x.py", {"colour": "red"}, "error", "colour"),
    ],
)
def test_metadata_is_judged(tmp_path: Path, name: str, metadata: dict[str, object], level: str, text: str) -> None:
    hooks = {"on_Snapshot__70_later.py": "", "on_Snapshot__71_circle.py": "", name: ""}
    config = {"x-hooks": {"on_Snapshot__71_circle.py": {"after": ["later"]}, name: metadata}}
    found = judge(tmp_path, {"p": {"config.json": config, **hooks}})
    assert any(kind == level and text in message for _, kind, message in found)


def test_one_name_has_one_meaning(tmp_path: Path) -> None:
    first = {"properties": {"A_X": {"type": "string", "x-aliases": ["SHARED"]}}}
    second = {"properties": {"B_X": {"type": "string", "x-aliases": ["SHARED"]}}}
    found = judge(tmp_path, {"a": {"config.json": first}, "b": {"config.json": second}})
    assert found == [("b", "error", "SHARED means something else in the plugin a")]


def test_conflicts_about_programs_are_errors(tmp_path: Path) -> None:
    first = '{"name": "node", "binproviders": "apt", "overrides": {"apt": {"packages": ["nodejs"]}}}'
    second = '{"name": "node", "binproviders": "npm", "overrides": {"apt": {"packages": ["node"]}}}'
    found = judge(tmp_path, {"a": {"binaries.jsonl": first}, "b": {"binaries.jsonl": second}})
    assert [(plugin, level) for plugin, level, _ in found] == [("b", "error"), ("b", "error")]


def test_a_start_does_not_pay_for_lint() -> None:
    code = (
        "import sys, archivebox.contract.discovery, archivebox.config.resolve\n"
        "print([m for m in ('jsonschema', 'django', 'importlib.metadata', 'asyncio') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_settings_of_the_core_may_be_read_by_every_plugin(tmp_path: Path) -> None:
    config = {"properties": {"INSTALL_TIMEOUT": {"type": "integer", "default": 1800}}}
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(config))
    plugins = discover_plugins(tmp_path, bundled=tmp_path / "none")
    assert [message.level for message in lint(plugins)] == ["warning", "warning"]
    assert lint(plugins, {"INSTALL_TIMEOUT"}) == []


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("on_Snapshot__60_x.py", "def main(:\n", "Python cannot read it: invalid syntax"),
        ("on_Snapshot__60_x.py", "\0", "Python cannot read it"),
        ("on_Snapshot__60_x.sh", "if true; then\n", "bash cannot read it"),
        ("on_Snapshot__60_x.js", "const x = ;\n", "node cannot read it: SyntaxError"),
        ("on_Snapshot__60_x.py", "import no_such_module\n", ""),
        ("on_Snapshot__60_x.js", "require('no-such-module')\n", ""),
    ],
)
def test_a_script_that_its_language_refuses_is_an_error(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    found = [message for _, level, message in judge(tmp_path, {"p": {name: text}}) if level == "error"]
    assert [message.startswith(complaint) for message in found] == ([True] if complaint else [])


def test_a_script_whose_interpreter_is_not_there_is_an_error(tmp_path: Path) -> None:
    script = tmp_path / "p" / "on_Snapshot__60_x.sh"
    script.parent.mkdir()
    script.write_text("#!/no/such/shell\n")
    script.chmod(0o755)
    (message,) = lint(discover_plugins(tmp_path, bundled=tmp_path / "none"))
    assert (message.level, message.text) == (
        "error", "its first line names an interpreter that is not there: /no/such/shell",
    )  # fmt: skip


def test_a_hook_that_was_cut_off_is_named(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    names = ["63_plain.bg.py", "64_finite.finite.bg.py", "65_daemon.daemon.bg.py"]
    for name in names:
        (tmp_path / "p" / f"on_Snapshot__{name}").write_text("pass\n")
    plugins = discover_plugins(tmp_path, bundled=tmp_path / "none")
    digests = {hook.digest for hook in plugins["p"].hooks}
    assert lint(plugins) == []
    (message,) = lint(plugins, cut_off=digests)
    assert (message.hook, message.level) == ("on_Snapshot__63_plain.bg.py", "warning")
