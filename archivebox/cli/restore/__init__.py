"""Owns the options of `archivebox restore`."""

import click

from archivebox.cli.declare import command, word
from archivebox.cli.session import Needs

COMMAND = command(
    "restore",
    "restore.body",
    "Make a collection of a backup, the newest unless one is named, in the folder of --data-dir, which must be empty "
    "or not there. Each file is compared with its hash. One of PostgreSQL goes to the empty database of DATABASE_URL.",
    [word("destination", "DEST"), click.Argument(["generation"], metavar="[GENERATION]", required=False)],
    needs=Needs.NOTHING,
)
