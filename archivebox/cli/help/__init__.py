"""Owns the options of `archivebox help`."""

from archivebox.cli.declare import command, words
from archivebox.cli.session import Needs

COMMAND = command("help", "help.body", "All commands, or one.", [words("names", "[COMMAND]...")], needs=Needs.NOTHING)
