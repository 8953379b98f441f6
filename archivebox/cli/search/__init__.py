"""Owns the options of `archivebox search`."""

from archivebox.cli.declare import LIMIT, command, words
from archivebox.cli.fields import FORMATS, HTML, PAGE_FILTERS, SORT
from archivebox.cli.session import Needs

COMMAND = command(
    "search",
    "search.body",
    "Snapshots that a query means. Words have to be in title, URL and tags, or in one of the texts; in double quotes "
    "they are a phrase, a * stands for the rest of a word. Keys choose: is: host: title: url: text: note: has: #tag "
    "after: before: plugin: status: reason: type: mime: http: quality: crawl: id:, with and, or, not and brackets. The "
    "best come first, unless --sort names newest, oldest, title, host, size, worst, or a column.\n\n"
    "archivebox search 'pears host:example.org (#fruit or title:orchard) not is:failed'\n\n"
    "archivebox search 'is:failed host:example.org' | archivebox update",
    [words("terms", "QUERY...", required=True), *PAGE_FILTERS, LIMIT, SORT, *FORMATS, HTML],
    needs=Needs.READING,
)
