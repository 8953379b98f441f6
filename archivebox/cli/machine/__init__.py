"""Owns the options of `archivebox machine`."""

from archivebox.cli.declare import command, group

COMMAND = group("machine", "The machines of this collection.", [command("list", "machine.body:list_", "Machines.")])
