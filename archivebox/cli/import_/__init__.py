"""Owns the options of `archivebox import`."""

import click

from archivebox.cli.declare import BG, VISIBILITIES, command, flag, option, word

MODES = ("copy", "link", "move")

COMMAND = command(
    "import",
    "import_.body",
    "Import pages with their files from the data folder of ArchiveBox 0.4 to 0.9, from a WARC, WACZ,"
    " HAR, MHTML or SingleFile file, or from a folder of these and of saved pages. Shows first what "
    "it found.\n\n"
    "Pages that were imported before are skipped: to continue an interrupted import, repeat the "
    "command. The source is not changed, unless its files are moved.",
    [
        word("path", "PATH"),
        option(
            "--mode",
            text="What becomes of the files: copy; link, which shares their content on one disk; or move, which "
            "deletes them there once everything was imported and compared.",
            default="copy",
            type=click.Choice(MODES),
        ),
        option("--visibility", text="Who sees the pages; else VISIBILITY.", type=click.Choice(VISIBILITIES)),
        flag("--whole", text="With accounts, schedules and settings; superusers become administrators."),
        flag("--dry-run", text="Only show what would be imported."),
        flag("--yes", text="Do it without asking."),
        BG,
    ],
)
