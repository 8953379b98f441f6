"""Owns the options of `archivebox list`."""

from archivebox.cli.declare import FILTERS, LIMIT, command, flag, words

COMMAND = command(
    "list",
    "list.body",
    "Snapshots, the newest first.",
    [words("which", "[URL|ID]..."), *FILTERS, flag("--retired", text="Those that were removed."), LIMIT],
)
