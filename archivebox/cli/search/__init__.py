"""Owns the options of `archivebox search`."""

from archivebox.cli.declare import FILTERS, LIMIT, command, words

COMMAND = command(
    "search",
    "search.body",
    "Snapshots that have every one of these words in one of their texts, or in title, URL and tags. Words in double "
    "quotes are a phrase, a * stands for the rest of a word.",
    [words("terms", "WORD...", required=True), *FILTERS, LIMIT],
)
