"""Owns the options of `archivebox version`."""

from archivebox.cli.declare import command, flag
from archivebox.cli.session import Needs

COMMAND = command(
    "version",
    "version.body",
    "The version; with --verbose the versions of everything else.",
    [
        flag("--verbose", text="Python, libraries, folders and programs too."),
        flag("--quiet", "-q", text="The number alone."),
    ],
    needs=Needs.NOTHING,
)
