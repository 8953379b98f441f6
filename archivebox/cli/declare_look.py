"""Owns the options of the commands that look at what is there, and of those that pause, resume and cancel it."""

import click

from archivebox.cli.declare import FILTERS, LIMIT, command, flag, group, option, word, words

_IDS = words("ids", "ID...", required=True)
_RUNNING = flag("--running", text="Only those that run now.")

COMMANDS: tuple[click.Command, ...] = (
    command("status", "status", "What is here, what is being done, and what needs you."),
    command(
        "list",
        "listing",
        "Snapshots, the newest first.",
        [words("which", "[URL|ID]..."), *FILTERS, flag("--retired", text="Those that were removed."), LIMIT],
    ),
    command(
        "search",
        "search",
        "Snapshots that have every one of these words in their title or URL.",
        [words("terms", "WORD...", required=True), *FILTERS, LIMIT],
    ),
    group(
        "crawl",
        "Look at crawls; pause, resume and cancel them.",
        [
            command(
                "list",
                "crawl:list_",
                "Crawls, the newest first.",
                [flag("--open", text="Only those that are not sealed."), LIMIT],
            ),
            command("show", "crawl:show", "One crawl and how far it is.", [word("id", "ID")]),
            command("pause", "crawl:pause", "Stop it without losing anything.", [_IDS]),
            command("resume", "crawl:resume", "Let it go on.", [_IDS]),
            command("cancel", "crawl:cancel", "End it; what is archived stays.", [_IDS]),
        ],
    ),
    group(
        "snapshot",
        "Look at snapshots; pause, resume and cancel them.",
        [
            command("show", "snapshot:show", "One snapshot and what each hook made of it.", [word("id", "ID|URL")]),
            command("pause", "snapshot:pause", "Stop it without losing anything.", [_IDS]),
            command("resume", "snapshot:resume", "Let it go on.", [_IDS]),
            command("cancel", "snapshot:cancel", "End it; what is archived stays.", [_IDS]),
        ],
    ),
    group(
        "process",
        "Every process that was started: which, by whom, for what, and how it ended.",
        [
            command(
                "list",
                "process:list_",
                "Processes, the newest first.",
                [
                    _RUNNING,
                    option(
                        "--type",
                        text="Only of this kind.",
                        type=click.Choice(["cli", "supervisord", "orchestrator", "worker", "hook", "binary"]),
                    ),
                    flag("--failed", text="Only those that did not end with 0."),
                    option("--snapshot", text="That served this snapshot.", metavar="ID"),
                    option("--crawl", text="That served this crawl.", metavar="ID"),
                    LIMIT,
                ],
            ),
            command(
                "tree",
                "process:tree",
                "Who started whom: cli, supervisord, orchestrator, worker, crawl, snapshot, hook, binary.",
                [click.Argument(["id"], required=False, metavar="[ID|PID]"), _RUNNING, LIMIT],
            ),
            command("show", "process:show", "One process.", [word("id", "ID|PID")]),
            command(
                "tail",
                "process:tail",
                "What it printed.",
                [
                    word("id", "ID|PID"),
                    flag("--follow", "-f", text="Go on until it ends."),
                    flag("--stderr", text="Its error output; else its standard output."),
                ],
            ),
            command(
                "kill",
                "process:kill",
                "End it and all that it started: TERM, five seconds, KILL.",
                [_IDS, flag("--now", text="KILL at once.")],
            ),
        ],
    ),
    group("machine", "The machines of this collection.", [command("list", "machine:list_", "Machines.")]),
    group("binary", "The programs that plugins need.", [command("list", "binary:list_", "Programs on this machine.")]),
)
