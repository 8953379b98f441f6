"""Owns `archivebox worker`, another name of `run --daemon`."""

from archivebox.cli.declare import command

COMMAND = command(
    "worker", "run.body:worker", "Keep running, and process new work; the same as `run --daemon`.", hidden=True
)
