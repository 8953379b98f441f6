"""Every command is declared once, has a page of help, and a body that takes just its options."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from archivebox.cli.main import DECLARED, PROGRAM, main


def commands(
    group: click.Group = PROGRAM, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    ctx = click.Context(group)
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


ALL = dict(commands())


@pytest.fixture(autouse=True)
def _data_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands choose a data folder by the environment, and leave their choice there."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path))


def test_the_commands_that_people_are_promised_are_there() -> None:
    promised = {
        "init", "add", "status", "list", "search", "remove", "update", "run", "worker", "orchestrator", "config get",
        "config set", "config explain", "config list", "doctor", "version", "help", "manage", "process list",
        "process tree", "process show", "process tail", "process kill", "machine list", "binary list", "install",
        "plugin list", "plugin show", "plugin run", "plugin lint", "crawl list", "crawl pause", "crawl resume",
        "crawl cancel", "snapshot show", "snapshot pause", "snapshot resume", "snapshot cancel", "server",
    }  # fmt: skip
    assert promised <= {" ".join(path) for path in ALL}


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_names_every_option_and_opens_nothing(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    if ALL[path].context_settings.get("ignore_unknown_options"):
        path = ("help", *path)
        command = ALL[path[1:]]
    else:
        command = ALL[path]
        path = (*path, "--help")
    assert main(path) == 0
    page = capsys.readouterr().out
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert max(parameter.opts, key=len) in page
    assert command.help is not None
    assert command.help.split()[0] in page


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_a_body_takes_the_options_that_are_declared(path: tuple[str, ...]) -> None:
    command = ALL[path]
    target = inspect.getclosurevars(command.callback).nonlocals["target"]  # type: ignore[arg-type]
    module, _, function = target.partition(":")
    body = getattr(importlib.import_module(module), function or "run")
    declared = {parameter.name for parameter in command.params if parameter.expose_value}
    taken = inspect.signature(body).parameters
    takes_rest = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in taken.values())
    named = {name for name, parameter in taken.items() if parameter.kind is inspect.Parameter.KEYWORD_ONLY}
    assert named <= declared
    assert takes_rest or named == declared


def test_every_declared_command_is_in_the_table() -> None:
    for module, names in DECLARED.items():
        found = {command.name for command in importlib.import_module(f"archivebox.cli.{module}").COMMANDS}
        assert found == set(names)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nope"], "`archivebox help` lists them."),
        (["statsu"], "Did you mean `archivebox status`?"),
        (["list", "--nope"], "See `archivebox list --help`."),
        (["list", "--limit", "x"], "'x' is not a valid integer"),
    ],
)
def test_wrong_words_are_a_sentence_and_status_2(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert printed.out == ""
