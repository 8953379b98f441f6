"""Owns the options of `archivebox update`."""

from archivebox.cli.declare import BG, BY_STDIN, EVERY, FILTERS, PLUGINS, command, words

COMMAND = command(
    "update",
    "update.body",
    "Try again at once what failed, waits for its retry, or was never run.\n\n"
    f"{BY_STDIN} With neither it is done everywhere at a terminal, elsewhere (cron) only with --all.",
    [words("which", "[URL|ID|-]..."), *FILTERS, EVERY, PLUGINS, BG],
)
