"""Owns the options of `archivebox init`."""

from archivebox.cli.declare import command, flag
from archivebox.cli.former import former_options
from archivebox.cli.session import Needs

COMMAND = command(
    "init",
    "init.body",
    "Make a collection here, or bring one up to date. Does no harm to one.",
    [
        flag("--force", text="Begin anew in a folder whose database is lost. Takes nothing from one that has it."),
        *former_options("init"),
    ],
    needs=Needs.MODELS,
)
