"""Owns the options of `archivebox machine`."""

import click

from archivebox.cli.declare import command, flag, group, option, word
from archivebox.cli.fields import MACHINE
from archivebox.cli.model_commands import list_command

WHICH = word("id", "ID|here")
BY_ITSELF = "a machine is recorded by itself, when a command of ArchiveBox first runs on it"
COMMAND = group(
    "machine",
    "The machines of this collection.",
    [
        list_command(
            "machine", "Machines, the newest first.", MACHINE, "archivebox machine list --hostname nas | jq -r .id"
        ),
        command(
            "show",
            "machine.body:show",
            "One machine, and what it works on.",
            [
                WHICH,
                flag(
                    "--alive",
                    text="Exit with status 1 if the machine has not been seen for two minutes; with SQLite, always.",
                ),
            ],
        ),
        command(
            "drain",
            "machine.body:drain",
            "Have a machine finish what it has begun and take no new work, before it is switched off or upgraded.",
            [
                WHICH,
                option(
                    "--within",
                    text="Seconds until what still runs returns to the queue.",
                    default=600,
                    show_default=True,
                    type=click.IntRange(min=0, max=86400),
                ),
                flag("--wait", text="Return when no page is at work there any more."),
            ],
        ),
        command("resume", "machine.body:resume", "Let a drained machine work again.", [WHICH]),
        command(
            "remove",
            "machine.body:remove",
            "Remove a machine that is gone from lists; it is listed again when it works again.",
            [word("id", "ID")],
        ),
    ],
    instead={
        "create": BY_ITSELF,
        "update": BY_ITSELF,
        "delete": "`archivebox machine drain ID` ends its work; `archivebox machine remove ID` removes one that is gone"
        " from lists, and keeps its record;"
        " `archivebox manage cleanup_processes --older-than=30d` forgets processes",
    },
)
