"""Owns the options of `archivebox export`."""

import click

from archivebox.cli.declare import BG, BY_STDIN, EVERY, command, option, words
from archivebox.cli.session import Needs
from archivebox.export.titles import TITLES

FORMATS = ". ".join(f"{name}: {title[0].lower()}{title[1:]}" for name, title in TITLES.items())

COMMAND = command(
    "export",
    "export.body",
    "Write the pages that a query means (see `archivebox search`) into one file.\n\n"
    "archivebox list --tag news | archivebox export --format warc --output news.warc.gz\n\n"
    f"{BY_STDIN} With neither all pages are written at a terminal, elsewhere (cron) only with --all.",
    [
        words("terms", "[QUERY|-]..."),
        EVERY,
        option("--format", text=f"What kind of file. {FORMATS}.", default="zip", type=click.Choice(list(TITLES))),
        option(
            "--output",
            "-o",
            text="Where to, - for stdout; else it stays in the collection, in exports/.",
            metavar="FILE",
        ),
        BG,
    ],
    needs=Needs.READING,
)
