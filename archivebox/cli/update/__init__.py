"""Owns the options of `archivebox update`."""

from archivebox.cli.columns import FILTERS, SNAPSHOT_LOOKUPS
from archivebox.cli.declare import BG, BY_STDIN, EVERY, PLUGINS, command, words
from archivebox.cli.former import former_options

COMMAND = command(
    "update",
    "update.body",
    "Try again at once what failed, waits for its retry, or was never run.\n\n"
    "archivebox list --tag news | archivebox update\n\n"
    f"{BY_STDIN} With neither it is done everywhere at a terminal, elsewhere (cron) only with --all.\n\n"
    f"{SNAPSHOT_LOOKUPS}",
    [words("which", "[URL|ID|-]..."), *FILTERS, EVERY, PLUGINS, BG, *former_options("update")],
)
