"""Owns the options of `archivebox list`."""

from archivebox.cli.columns import FILTERS, FORMATS, HTML, SNAPSHOT_LOOKUPS, SORT
from archivebox.cli.declare import LIMIT, command, flag, words
from archivebox.cli.former import former_options
from archivebox.cli.session import Needs

OPTIONS = [
    words("which", "[URL|ID|-]..."),
    *FILTERS,
    flag("--removed", "--retired", "retired", text="Those that were removed."),
    LIMIT,
    SORT,
    *FORMATS,
    HTML,
    *former_options("list"),
]
TEXT = (
    "List snapshots, newest first. With -: those that records on stdin name.\n\n"
    "archivebox list --tag news --status sealed | archivebox export --format zip\n\n"
    f"{SNAPSHOT_LOOKUPS}"
)
COMMAND = command("list", "list.body", TEXT, OPTIONS, needs=Needs.READING)
