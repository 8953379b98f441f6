"""Owns the options of `archivebox search`."""

import click

from archivebox.cli.columns import FILTERS, SNAPSHOT_LOOKUPS
from archivebox.cli.declare import LIMIT, command, option, words

SORT = option(
    "--sort",
    text="In this order; without it, the best first.",
    type=click.Choice(["newest", "oldest", "title", "host", "size", "worst"]),
)

COMMAND = command(
    "search",
    "search.body",
    "Snapshots that a query means. Words have to be in title, URL and tags, or in one of the texts; in double quotes "
    "they are a phrase, a * stands for the rest of a word. Keys choose: is: host: title: url: text: note: has: #tag "
    "after: before: plugin: status: reason: type: mime: http: quality: crawl: id:, with and, or, not and brackets.\n\n"
    "archivebox search 'pears host:example.org (#fruit or title:orchard) not is:failed'\n\n"
    "archivebox search 'is:failed host:example.org' | archivebox update\n\n"
    f"{SNAPSHOT_LOOKUPS}",
    [words("terms", "QUERY...", required=True), *FILTERS, SORT, LIMIT],
)
