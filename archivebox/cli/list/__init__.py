"""Owns the options of `archivebox list`."""

from archivebox.cli.declare import LIMIT, command, flag, words
from archivebox.cli.fields import FORMATS, HTML, PAGE_FILTERS, SORT
from archivebox.cli.former import former_options
from archivebox.cli.session import Needs

OPTIONS = [
    words("which", "[URL|ID|-]..."),
    *PAGE_FILTERS,
    flag("--removed", "--retired", "retired", text="Those that were removed."),
    LIMIT,
    SORT,
    *FORMATS,
    HTML,
    *former_options("list"),
]
TEXT = (
    "List snapshots, newest first. With -: those that records on stdin name.\n\n"
    "archivebox list --tag news --status sealed | archivebox export --format zip"
)
COMMAND = command("list", "list.body", TEXT, OPTIONS, needs=Needs.READING)
