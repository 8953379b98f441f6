"""Owns the options of `archivebox run`."""

import click

from archivebox.cli.declare import command, flag, option

COMMAND = command(
    "run",
    "run.body",
    "Work until nothing is left to do now.\n\n"
    "archivebox archiveresult list --status failed | archivebox run\n\n"
    "JSON records in a pipe or a file on stdin are run instead: a Snapshot with a url that is not here is added; of "
    "one that is here, or of a Crawl, the crawl goes on; an ArchiveResult is run again. Without any record there the "
    "queue is worked on. - reads records whatever stdin is, and without any does nothing.",
    [
        click.Argument(["source"], required=False, metavar="[-]"),
        flag("--daemon", text="Keep running, and process new work."),
        option("--crawl", "--crawl-id", text="Run this crawl, and nothing else.", metavar="ID"),
        option("--snapshot", "--snapshot-id", text="Run this snapshot, and nothing else.", metavar="ID"),
        option("--archiveresult", text="Run this one result again, and nothing else.", metavar="ID"),
    ],
)
