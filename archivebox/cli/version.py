"""Carries out `archivebox version` and `archivebox help`. They open nothing and leave no trace."""

import importlib.metadata
import os
import platform
import shutil
import sqlite3
from itertools import chain
from pathlib import Path

import click
import platformdirs

from archivebox import __version__
from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Column
from archivebox.cli.session import Session
from archivebox.contract.binaries import merge
from archivebox.contract.discovery import discover_plugins
from archivebox.storage.layout import DataFolder

LIBRARIES = ("django", "python-statemachine", "psutil", "ada-url", "selectolax", "granian", "supervisor")


def run(session: Session, *, verbose: bool, quiet: bool) -> int:
    if quiet:
        session.out.text(f"{__version__}\n")
        return 0
    if not verbose:
        session.out.event({"type": "Version", "version": __version__}, f"archivebox {__version__}")
        return 0
    facts = _facts(session.folder)
    session.out.facts(facts, {name: name.replace("_", " ") for name in facts if name != "type"})
    session.out.table(
        [Column("program", "name"), Column("where", "abspath"), Column("needed by", "plugins", wraps=True)],
        _programs(session.folder),
    )
    return 0


def _facts(folder: DataFolder) -> dict[str, object]:
    versions = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return {
        "type": "Version",
        "version": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "sqlite": sqlite3.sqlite_version,
        **versions,
        "data_dir": str(folder.root),
        "lib_dir": str(_lib_dir()),
    }


def _lib_dir() -> Path:
    return Path(os.environ.get("LIB_DIR") or platformdirs.user_data_path("archivebox") / "lib")


def _programs(folder: DataFolder) -> list[dict[str, object]]:
    """Programs by name, and where they are found; nothing is started to ask for its version."""
    plugins = discover_plugins(folder.plugins)
    wanted, _ = merge(chain.from_iterable(plugin.binaries for plugin in plugins.values()))
    path = f"{_lib_dir() / 'bin'}{os.pathsep}{os.environ.get('PATH') or os.defpath}"
    return [
        {
            "type": "Binary",
            "name": name,
            "abspath": shutil.which(name, path=path),
            "plugins": [
                plugin.name for plugin in plugins.values() if any(asked.name == name for asked in plugin.binaries)
            ],
        }
        for name in sorted(wanted)
    ]


def help_(session: Session, *, names: tuple[str, ...]) -> int:
    """Print the page of a command, of a command inside a group, or of the program."""
    ctx = click.get_current_context().find_root()
    for name in names:
        command = ctx.command.get_command(ctx, name) if isinstance(ctx.command, click.Group) else None
        if command is None:
            raise BadInputError(f"There is no command {' '.join(names)!r}. `archivebox help` lists them.")
        ctx = click.Context(command, info_name=name, parent=ctx)
    session.out.text(ctx.get_help() + "\n")
    return 0
