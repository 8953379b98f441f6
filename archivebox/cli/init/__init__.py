"""Owns the options of `archivebox init`."""

from archivebox.cli.declare import command
from archivebox.cli.former import former_options
from archivebox.cli.session import Needs

COMMAND = command(
    "init",
    "init.body",
    "Make a collection here, or bring one up to date. Does no harm to one.",
    former_options("init"),
    needs=Needs.NEW,
)
