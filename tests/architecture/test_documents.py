"""What the documents say is there."""

import ast
import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

from archivebox import __version__
from archivebox.cli.main import PROGRAM
from archivebox.cli.plugin import document
from archivebox.contract.discovery import discover_plugins
from tests.architecture import source

DOCUMENTS = sorted([*source.ROOT.glob("*.md"), *source.ROOT.glob("docs/**/*.md")])
TYPED_FROM = [path for path in DOCUMENTS if path.name not in {"CHANGELOG.md", "from-earlier-versions.md"}]
"""Documents whose commands are ours, of now, and written as they are typed."""
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.mark.parametrize("path", DOCUMENTS, ids=source.shown)
def test_links_to_our_own_files_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", path.read_text())
    assert [link for link in links if not (path.parent / link).exists()] == []


def slug_of(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower().replace("'", "")).strip("-")


def test_decisions_are_named_and_listed_by_their_titles() -> None:
    folder = source.ROOT / "docs" / "decisions"
    titles = {path.name: path.read_text().partition("\n")[0] for path in folder.glob("[0-9]*.md")}
    assert {f"{title[2:6]}-{slug_of(title[8:])}.md" for title in titles.values()} == set(titles)
    listed = re.findall(r"^\| \[(\d{4})\]\((.+?)\) \| (.+) \|$", (folder / "README.md").read_text(), re.MULTILINE)
    assert {name: f"# {number}: {title}" for number, name, title in listed} == titles


def test_make_targets_that_contributors_are_told_of_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (source.ROOT / "Makefile").read_text(), re.MULTILINE))
    told = set(re.findall(r"\bmake ([a-z][a-z-]+)(?=`|\s{2,}#)", (source.ROOT / "CONTRIBUTING.md").read_text()))
    assert len(told) > 4
    assert told - targets == set()


def test_the_reference_of_plugins_says_what_they_say() -> None:
    """`make docs` writes it."""
    assert (source.ROOT / "docs" / "plugins.md").read_text().strip() == document(discover_plugins().values()).strip()


def test_the_changelog_has_an_entry_for_this_version() -> None:
    """The release of a tag publishes it."""
    assert f"\n## {__version__}\n" in (source.ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("script", ["bin/archivebox", "bin/environment", "bin/test", "bin/with-postgres"])
def test_scripts_of_the_checkout_are_plain_sh(script: str) -> None:
    path = source.ROOT / script
    assert path.read_text().startswith("#!/bin/sh\n")
    assert path.stat().st_mode & 0o111
    assert subprocess.run(["sh", "-n", path], check=False).returncode == 0


def commands_of(path: Path) -> list[list[str]]:
    """The words of each command that a document has people type: in backticks, or on a line of its own."""
    text = re.sub(r"\\\n\s*", " ", path.read_text())
    typed = re.findall(r"`(?:bin/)?archivebox ([^`\n]+)`|^ {4,}(?:\$ )?(?:bin/)?archivebox (.+)$", text, re.MULTILINE)
    return [shlex.split("".join(either), comments=True) for either in typed]


def mistake_in(words: list[str]) -> str:
    """The first word of a command that is no command or option of ours; empty where all are."""
    command: click.Command = PROGRAM
    for word in words:
        if word in {"|", "<", ">"} or command.name == "manage":  # which hands on what it is given
            break
        if isinstance(command, click.Group) and not word.startswith("-"):
            inner = command.get_command(click.Context(command), word)
            if inner is None:
                return word
            command = inner
        params = command.get_params(click.Context(command))
        known = {option for one in params for option in (*one.opts, *getattr(one, "spellings", ()))} | {"--help"}
        if word.startswith("--") and word.partition("=")[0] not in known:
            return word
    return ""


@pytest.mark.parametrize("path", TYPED_FROM, ids=source.shown)
def test_commands_that_people_are_told_to_type_exist(path: Path) -> None:
    assert {mistake_in(words) for words in commands_of(path)} <= {""}


def sentences_of(path: Path) -> str:
    """What a module says, a line for each string of it; the whole of a template."""
    if path.suffix != ".py":
        return path.read_text()
    strings = (node.value for node in ast.walk(source.parse(path)) if isinstance(node, ast.Constant))
    return "\n".join(text.replace("\n", " ") for text in strings if isinstance(text, str))


def test_commands_that_sentences_of_the_program_name_exist() -> None:
    """As far as they stand there: what is filled in when one is said is unknown."""
    for path in [*source.modules(), *source.PACKAGE.glob("**/*.html")]:
        for typed in re.findall(r"(?:`|<code>)archivebox ([^`\n<{%…]+)", sentences_of(path)):
            assert mistake_in(re.sub("--data-dir [A-Z]+ ", "", typed).split()) == "", (path, typed)


def reading_path() -> list[tuple[str, str]]:
    """Each step of the reading paths: a module, and what is to be read in it."""
    text = (source.ROOT / "docs" / "architecture.md").read_text()
    section = text.partition("## Reading paths")[2].partition("\n## ")[0]
    steps = re.findall(r"^\d+\. `([\w/]+\.py)` ((?:`[\w.]+`(?:, )?)+)", section, re.MULTILINE)
    return [(module, name) for module, names in steps for name in re.findall(r"`([\w.]+)`", names)]


def names_in(module: str) -> set[str]:
    """Functions and classes of a module, and methods as ``Class.method``."""
    tree = source.parse(source.PACKAGE / module)
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, FUNCTIONS)}
        if isinstance(node, ast.ClassDef | FUNCTIONS):
            found.add(node.name)
    return found


def test_every_step_of_a_reading_path_is_there() -> None:
    steps = reading_path()
    assert len(steps) > 30
    assert [(module, name) for module, name in steps if name not in names_in(module)] == []
