"""Owns the options of `archivebox export`."""

import click

from archivebox.cli.declare import BG, BY_STDIN, EVERY, command, option, words

FORMATS = ["zip", "warc", "jsonl", "csv"]

COMMAND = command(
    "export",
    "export.body",
    "Write the pages that a query means (see `archivebox search`) into one file: zip, all files and a page that lists "
    "them; warc, for replay elsewhere; jsonl and csv, what is known of each.\n\n"
    f"{BY_STDIN} With neither all pages are written at a terminal, elsewhere (cron) only with --all.",
    [
        words("terms", "[QUERY|-]..."),
        EVERY,
        option("--format", text="What kind of file.", default="zip", type=click.Choice(FORMATS)),
        option(
            "--output",
            "-o",
            text="Where to, - for stdout; else it stays in the collection, in exports/.",
            metavar="FILE",
        ),
        BG,
    ],
)
