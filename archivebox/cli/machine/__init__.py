"""Owns the options of `archivebox machine`."""

from archivebox.cli.columns import MACHINE
from archivebox.cli.declare import group
from archivebox.cli.model_commands import list_command

BY_ITSELF = "a machine is recorded by itself, when a command of ArchiveBox first runs on it"
COMMAND = group(
    "machine",
    "The machines of this collection.",
    [
        list_command(
            "machine", "Machines, the newest first.", MACHINE, "archivebox machine list --hostname nas | jq -r .id"
        )
    ],
    instead={
        "create": BY_ITSELF,
        "update": BY_ITSELF,
        "delete": "it stays with what it did; `archivebox manage cleanup_processes --older-than=30d` forgets processes",
    },
)
