"""Owns the options of `archivebox status`."""

from archivebox.cli.declare import command

COMMAND = command("status", "status.body", "What is here, what is being done, and what needs you.")
