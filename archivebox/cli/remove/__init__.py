"""Owns the options of `archivebox remove`."""

from archivebox.cli.declare import FILTERS, command, flag, words

COMMAND = command(
    "remove",
    "remove.body",
    "Retire snapshots: they leave every list, their files stay until retention. Shows first what it would do.",
    [
        words("which", "[URL|ID]..."),
        *FILTERS,
        flag("--yes", text="Do it without asking."),
        flag("--undo", text="Bring retired ones back instead."),
    ],
)
