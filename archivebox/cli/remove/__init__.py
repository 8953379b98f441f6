"""Owns the options of `archivebox remove`."""

from archivebox.cli.declare import BY_STDIN, EVERY, command, flag, words
from archivebox.cli.fields import PAGE_FILTERS
from archivebox.cli.former import former_options
from archivebox.cli.model_commands import DRY_RUN, YES

OPTIONS = [words("which", "[URL|ID|-]..."), *PAGE_FILTERS, EVERY, YES, DRY_RUN, *former_options("remove")]
TEXT = (
    "Remove snapshots: they leave every list, their files stay until retention. Shows first what it would do.\n\n"
    "archivebox search 'is:failed host:example.org' | archivebox remove --yes\n\n"
    f"{BY_STDIN} With neither nothing is removed, unless --all is given."
)
COMMAND = command(
    "remove",
    "remove.body",
    TEXT,
    [*OPTIONS, flag("--undo", text="Bring removed ones back instead.")],
)
