"""Owns the options of `archivebox process`."""

import click

from archivebox.cli.declare import IDS, LIMIT, command, flag, group, option, word

_RUNNING = flag("--running", text="Only those that run now.")
_TYPES = ("cli", "supervisord", "orchestrator", "worker", "hook", "binary")

COMMAND = group(
    "process",
    "Every process that was started: which, by whom, for what, and how it ended.",
    [
        command(
            "list",
            "process.body:list_",
            "Processes, the newest first.",
            [
                _RUNNING,
                option("--type", text="Only of this kind.", type=click.Choice(_TYPES)),
                flag("--failed", text="Only those that did not end with 0."),
                option("--snapshot", text="That served this snapshot.", metavar="ID"),
                option("--crawl", text="That served this crawl.", metavar="ID"),
                LIMIT,
            ],
        ),
        command(
            "tree",
            "process.body:tree",
            "Who started whom: cli, supervisord, orchestrator, worker, crawl, snapshot, hook, binary.",
            [
                click.Argument(["id"], required=False, metavar="[ID|PID]"),
                _RUNNING,
                option(
                    "--limit",
                    text="The trees of so many that nobody else of ours started, the latest.",
                    default=3,
                    show_default=True,
                    type=click.IntRange(min=1),
                ),
            ],
        ),
        command("show", "process.body:show", "One process.", [word("id", "ID|PID")]),
        command(
            "tail",
            "process.body:tail",
            "What it printed.",
            [
                word("id", "ID|PID"),
                flag("--follow", "-f", text="Go on until it ends."),
                flag("--stderr", text="Its error output; else its standard output."),
            ],
        ),
        command(
            "kill",
            "process.body:kill",
            "End it and all that it started: TERM, five seconds, KILL.",
            [IDS, flag("--now", text="KILL at once.")],
        ),
    ],
)
