"""Compares the size of the program with `budget.toml` (`make budget`): what is above it fails, what is left is printed.

The numbers there only go down. One is raised in the commit that needs it, with a sentence that says what was removed
first; numbers are lowered to what the tree has with ``--lower``.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections import Counter
from pathlib import Path

import click

from archivebox.cli.main import PROGRAM
from archivebox.config.core import CORE_SETTINGS
from archivebox.contract.discovery import BUNDLED
from tests.architecture import source

BUDGET = Path(__file__).with_name("budget.toml")
Sizes = dict[str, int]


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def package_sizes() -> tuple[Sizes, Sizes]:
    """Raw lines of Python without migrations, and files: of each package, of modules beside them, and of all."""
    lines, files = Counter[str](), Counter[str]()
    for path in source.modules():
        parts = path.relative_to(source.PACKAGE).parts
        for name in (parts[0] if len(parts) > 1 else "modules", "all"):
            lines[name] += lines_of(path)
            files[name] += 1
    return dict(lines), dict(files)


def count_options(command: click.Command) -> int:
    """Options of a command and of those below it; each that stands at two commands counts twice.

    Not those that all commands have, as `--help`: they are declared once.
    """
    own = sum(isinstance(parameter, click.Option) for parameter in command.params)
    if not isinstance(command, click.Group):
        return own
    below = (
        command.get_command(click.Context(command), name) for name in command.list_commands(click.Context(command))
    )
    return own + sum(count_options(one) for one in below if one is not None)


def other_sizes() -> Sizes:
    """Settings (without those that every plugin has, as NAME_TIMEOUT), options, records, words, lines of tests."""
    described = [json.loads(file.read_text()) for file in BUNDLED.glob("*/config.json")]
    documents = [*source.ROOT.glob("*.md"), *source.ROOT.glob("docs/**/*.md")]
    return {
        "settings": len(CORE_SETTINGS) + len({name for one in described for name in one.get("properties", ())}),
        "options": count_options(PROGRAM),
        "decisions": len(list(source.ROOT.glob("docs/decisions/[0-9]*.md"))),
        "words": sum(len(path.read_text().split()) for path in documents),
        "test_lines": sum(lines_of(path) for path in (source.ROOT / "tests").rglob("*.py")),
    }


def measure() -> dict[str, Sizes]:
    """All that has a limit."""
    lines, files = package_sizes()
    return {"lines": lines, "files": files, "other": other_sizes()}


def above(found: dict[str, Sizes], allowed: dict[str, Sizes]) -> list[str]:
    """What is over its limit, or has none."""
    return [
        f"{table}.{name}: {size}, allowed {allowed.get(table, {}).get(name, 0)}"
        for table, sizes in found.items()
        for name, size in sizes.items()
        if size > allowed.get(table, {}).get(name, 0)
    ]


def lowered(found: dict[str, Sizes], allowed: dict[str, Sizes]) -> str:
    """The file with each limit at what was found, where that is less; a limit of nothing goes."""
    comment = "".join(line for line in BUDGET.read_text().splitlines(keepends=True) if line.startswith("#"))
    tables = [
        f"[{table}]\n"
        + "".join(
            f"{name} = {min(size, allowed.get(table, {}).get(name, size))}\n" for name, size in sorted(sizes.items())
        )
        for table, sizes in found.items()
    ]
    return "\n".join([comment, *tables])


def main(words: list[str]) -> int:
    found = measure()
    allowed: dict[str, Sizes] = tomllib.loads(BUDGET.read_text())
    if "--lower" in words:
        BUDGET.write_text(lowered(found, allowed))
        return 0
    for table, sizes in found.items():
        left = (f"{name} {size} ({allowed.get(table, {}).get(name, 0) - size:+d})" for name, size in sizes.items())
        print(f"{table}: {', '.join(left)}")
    problems = above(found, allowed)
    print("\n".join(["Above tests/architecture/budget.toml:", *problems] if problems else ["Within the budget."]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
