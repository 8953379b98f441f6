"""Owns the options of `archivebox update`."""

from archivebox.cli.declare import BG, BY_STDIN, EVERY, PLUGINS, command, words
from archivebox.cli.fields import PAGE_FILTERS
from archivebox.cli.former import former_options

COMMAND = command(
    "update",
    "update.body",
    "Try again at once what failed, waits for its retry, or was never run.\n\n"
    "archivebox list --tag news | archivebox update\n\n"
    f"{BY_STDIN} With neither it is done everywhere at a terminal, elsewhere (cron) only with --all.",
    [words("which", "[URL|ID|-]..."), *PAGE_FILTERS, EVERY, PLUGINS, BG, *former_options("update")],
)
