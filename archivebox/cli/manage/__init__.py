"""Owns the options of `archivebox manage`."""

import click

from archivebox.cli.declare import command, word
from archivebox.cli.session import Needs

COMMAND = command(
    "manage",
    "manage.body",
    "Look after the collection: `cleanup_processes --older-than=30d [--dry-run]`, `reindex [--only URL|ID...]`, "
    "`move_database --to URL|sqlite`, `login_link [USER]`, `reset_second_factor USER`, and every command of Django's.",
    [word("action", "COMMAND"), click.Argument(["args"], nargs=-1, metavar="[OPTION]...")],
    needs=Needs.PAGES,
    passes_on=True,
)
