"""Owns `archivebox orchestrator`, which starts a part of the engine."""

import click

from archivebox.cli.declare import command
from archivebox.cli.session import Needs

COMMAND = command(
    "orchestrator",
    "orchestrator.body",
    "Start and watch the workers; `run` and `server` do it by themselves.",
    [click.Argument(["args"], nargs=-1)],
    needs=Needs.MODELS,
    hidden=True,
    passes_on=True,
)
