"""Owns the options of `archivebox server`."""

import click

from archivebox.cli.declare import command, option
from archivebox.cli.former import former_options
from archivebox.cli.session import Needs

COMMAND = command(
    "server",
    "server.body",
    "Serve the web interface, and process the queue.",
    [
        click.Argument(["address"], required=False, metavar="[HOST:PORT]"),
        option("--bind", text="The same, as an option.", metavar="HOST:PORT"),
        option("--replay", text="Where archived pages are shown; else the next port.", metavar="HOST:PORT"),
        *former_options("server"),
    ],
    needs=Needs.NEW,
)
