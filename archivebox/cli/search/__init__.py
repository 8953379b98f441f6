"""Owns the options of `archivebox search`."""

from archivebox.cli.declare import FILTERS, LIMIT, command, words

COMMAND = command(
    "search",
    "search.body",
    "Snapshots that a query means. Words have to be in title, URL and tags, or in one of the texts; in double quotes "
    "they are a phrase, a * stands for the rest of a word. Keys choose: is: host: title: url: text: #tag after: "
    "before: plugin: status: reason: type: mime: quality: crawl: id:, with and, or, not and brackets.\n\n"
    "archivebox search 'pears host:example.org (#fruit or title:orchard) not is:failed'",
    [words("terms", "QUERY...", required=True), *FILTERS, LIMIT],
)
