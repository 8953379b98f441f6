"""Owns the options of `archivebox storage`."""

import click

from archivebox.cli.declare import command, global_options

COMMAND = click.Group(
    "storage",
    commands=[
        command(
            "gc",
            "storage.body:collect",
            "Delete stored bodies that no page has any more. Removed pages take along theirs by themselves.",
        ),
        command(
            "dedupe",
            "storage.body:dedupe",
            "Store bodies that pages have copies of once again, as after an import or a copy without hard links.",
        ),
    ],
    help="Look after what pages share on the disk.",
    params=global_options(),
    no_args_is_help=True,
)
