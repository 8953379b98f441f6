"""Owns the options of `archivebox run`."""

from archivebox.cli.declare import command, flag, option

COMMAND = command(
    "run",
    "run.body",
    "Work until nothing is left to do now.",
    [
        flag("--daemon", text="Stay, and take what comes."),
        option("--crawl", text="Run this crawl, and nothing else.", metavar="ID"),
        option("--snapshot", text="Run this snapshot, and nothing else.", metavar="ID"),
        option("--archiveresult", text="Run this one result again, and nothing else.", metavar="ID"),
    ],
)
