"""Every command is declared once, has a page of help, and a body that takes just its options."""

import importlib
import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from archivebox.cli.main import PROGRAM, main
from archivebox.cli.page_commands import PARSERS
from archivebox.lib.links.formats import ListFormat


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


@pytest.mark.parametrize(
    "words", [["help"], ["add", "--help"], ["help", "crawl", "list"], ["version", "--verbose"], []]
)
@pytest.mark.parametrize("completes", ["", "bash_complete"])
def test_help_version_and_completion_import_no_django(words: list[str], completes: str) -> None:
    body = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(' django' if 'django' in sys.modules else ' without', file=sys.stderr))\n"
        "from archivebox.__main__ import main\n"
        f"sys.argv = ['archivebox', *{words!r}]\n"
        "main()\n"
    )
    wants = {"_ARCHIVEBOX_COMPLETE": completes, "COMP_WORDS": "archivebox add --", "COMP_CWORD": "2"}
    env = {**os.environ, **(wants if completes else {})}
    done = subprocess.run([sys.executable, "-c", body], env=env, capture_output=True, text=True, check=True)
    assert done.stderr == " without\n"
    assert ("--tag" in done.stdout) == bool(completes) or words[:1] == ["add"]


def test_add_loads_no_readers_exports_or_web_pages() -> None:
    """Each module costs every command half a millisecond before its first page."""
    body = (
        "import django; django.setup()\n"
        "import sys, archivebox.cli.add\n"
        "print(*(name for name in ('archivebox.imports.readers', 'archivebox.export', 'archivebox.web', 'obstore')"
        " if name in sys.modules))\n"
    )
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "archivebox.config.settings"}
    done = subprocess.run([sys.executable, "-c", body], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nope"], "`archivebox help` lists them."),
        (["statsu"], "Did you mean `archivebox status`?"),
        (["verify"], "Did you mean `archivebox backup verify`, `archivebox snapshot verify`"),
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


def test_each_format_of_a_list_can_be_chosen() -> None:
    assert {*PARSERS} == {*ListFormat}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("process create", "archivebox plugin run"),
        ("process update", "archivebox process kill"),
        ("process delete", "archivebox manage cleanup_processes"),
        ("machine create", "recorded by itself"),
        ("machine delete", "archivebox manage cleanup_processes"),
        ("archiveresult delete", "archivebox remove"),
    ],
)
def test_what_makes_no_sense_for_a_model_is_answered_by_what_does(
    words: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    group, act = words.split()
    assert main([group, act, "--yes"]) == 2
    assert sentence in capsys.readouterr().err
    assert main([group, "--help"]) == 0
    assert f"  {act} " not in capsys.readouterr().out
