"""Owns the options of `archivebox search`."""

from archivebox.cli.declare import FILTERS, LIMIT, command, words

COMMAND = command(
    "search",
    "search.body",
    "Snapshots that have every one of these words in their title or URL.",
    [words("terms", "WORD...", required=True), *FILTERS, LIMIT],
)
