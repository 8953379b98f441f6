"""Owns the options of `archivebox install`."""

from archivebox.cli.declare import command, flag, words
from archivebox.cli.session import Needs

COMMAND = command(
    "install",
    "install.body",
    "Install the programs that plugins need: all, or those named.",
    [
        words("names", "[NAME]..."),
        flag("--upgrade", text="Also upgrade installed programs."),
        flag("--dry-run", text="Only say what would be installed, and how."),
    ],
    needs=Needs.NEW,
)
