"""Owns `archivebox worker`, another name of `run --daemon`."""

from archivebox.cli.declare import command

COMMAND = command("worker", "run.body:worker", "Stay, and take what comes: the same as `run --daemon`.", hidden=True)
