"""Owns the options of `archivebox remove`."""

from archivebox.cli.declare import BY_STDIN, EVERY, FILTERS, command, flag, words

COMMAND = command(
    "remove",
    "remove.body",
    "Retire snapshots: they leave every list, their files stay until retention. Shows first what it would do.\n\n"
    f"{BY_STDIN} With neither nothing is removed, unless --all is given.",
    [
        words("which", "[URL|ID|-]..."),
        *FILTERS,
        EVERY,
        flag("--yes", text="Do it without asking."),
        flag("--undo", text="Bring retired ones back instead."),
    ],
)
