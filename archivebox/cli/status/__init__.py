"""Owns the options of `archivebox status`."""

from archivebox.cli.declare import command

COMMAND = command(
    "status", "status.body", "Show what the collection contains, what is running, and what needs your attention."
)
