"""Owns the options of `archivebox process`."""

import click

from archivebox.cli.declare import IDS, command, flag, group, option, word
from archivebox.cli.fields import PROCESS
from archivebox.cli.model_commands import list_command

_RUNNING = flag("--running", text="Only running processes.")

COMMAND = group(
    "process",
    "Every process that was started: which, by whom, for what, and how it ended.",
    [
        list_command(
            "process",
            "Processes, the newest first.",
            PROCESS,
            "archivebox process list --failed --plugin ytdlp --limit 20 | jq -r .stderr",
            [
                _RUNNING,
                flag("--failed", text="Only those that did not end with 0."),
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
                    text="Show the latest N trees.",
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
    instead={
        "create": "hooks and workers start processes; `archivebox plugin run NAME URL` tries the hooks of a plugin",
        "update": "`archivebox process kill ID` ends one, and its record is the system's",
        "delete": "`archivebox manage cleanup_processes --older-than=30d` deletes records of those that have ended",
    },
)
