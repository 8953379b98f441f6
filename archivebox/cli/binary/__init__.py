"""Owns the options of `archivebox binary`."""

from archivebox.cli.declare import command, group

COMMAND = group(
    "binary", "The programs that plugins need.", [command("list", "binary.body:list_", "Programs on this machine.")]
)
