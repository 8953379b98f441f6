"""Owns the options of `archivebox update`."""

from archivebox.cli.declare import BG, FILTERS, PLUGINS, command, words

COMMAND = command(
    "update",
    "update.body",
    "Try again at once what failed, waits for its retry, or was never run. Without a choice: everywhere.",
    [words("which", "[URL|ID]..."), *FILTERS, PLUGINS, BG],
)
