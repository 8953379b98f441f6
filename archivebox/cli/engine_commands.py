"""The options of commands that look after programs, plugins, processes, jobs and machines."""

import click

from archivebox.cli.declare import (
    EVERY_ROW,
    IDS,
    LIMIT,
    READS,
    command,
    delete_command,
    flag,
    group,
    list_command,
    option,
    word,
    words,
)
from archivebox.cli.fields import BINARY, MACHINE, PROCESS
from archivebox.cli.session import Needs

BINARY_NAMES = words("ids", "[NAME|ID|-]...")
BINARY_COMMAND = group(
    "binary",
    "The programs that plugins need.",
    [
        list_command(
            "binary",
            "Programs on this machine.",
            BINARY,
            "archivebox binary list --status failed | archivebox binary update",
        ),
        command(
            "create",
            "binary:create",
            "Install programs that plugins need, as `archivebox install` does.\n\n"
            "archivebox binary create yt-dlp ffmpeg | jq -r .abspath",
            [words("names", "NAME...", required=True)],
            needs=Needs.NEW,
        ),
        command(
            "update",
            "binary:update",
            f"Upgrade programs, like `archivebox install --upgrade`; missing ones are looked for again. {READS}\n\n"
            "archivebox binary list --status failed | archivebox binary update",
            [BINARY_NAMES, EVERY_ROW],
        ),
        delete_command(
            "binary",
            "Delete the records of programs; their files stay, and the next hook that needs one looks for it again.",
            BINARY,
            "archivebox binary list --binprovider env | archivebox binary delete --yes",
            BINARY_NAMES,
        ),
    ],
)


INSTALL_COMMAND = command(
    "install",
    "binary:install",
    "Install the programs that plugins need: all, or those named.",
    [
        words("names", "[NAME]..."),
        flag("--upgrade", text="Also upgrade installed programs."),
        flag("--dry-run", text="Only say what would be installed, and how."),
    ],
    needs=Needs.NEW,
)


PLUGIN_COMMAND = group(
    "plugin",
    "List plugins, write your own, try and check them.",
    [
        command("list", "plugin:list_", "List plugins, and whether they are on.", needs=Needs.ANY),
        command(
            "show",
            "plugin:show",
            "Show a plugin: hooks, settings, programs.",
            [word("name", "NAME")],
            needs=Needs.ANY,
        ),
        command(
            "reference",
            "plugin:reference",
            "Print what plugins save, when they run, and their settings, as Markdown.",
            [words("names", "[NAME]...")],
            needs=Needs.ANY,
        ),
        command(
            "run",
            "plugin_author:run",
            "Run a plugin's hooks, and those they require, on a URL, into a folder.",
            [
                word("name", "NAME"),
                word("url", "URL"),
                option("--hook", text="Run only this hook.", metavar="FILE"),
                option("--output", text="Folder for its files; default: a new one.", metavar="FOLDER"),
                option("--config", text="A setting for this run.", multiple=True, metavar="KEY=VALUE"),
            ],
        ),
        command(
            "new",
            "plugin_author:new",
            "Create a plugin from a template.",
            [
                word("name", "NAME"),
                option("--lang", text="Language of its hook.", default="py", type=click.Choice(["py", "sh", "js"])),
                flag("--page", text="Its hook reads the live page in the browser; py or js."),
            ],
        ),
        command(
            "lint",
            "plugin:lint_",
            "Check plugins for mistakes.",
            [words("names", "[NAME|FOLDER]...")],
            needs=Needs.ANY,
        ),
    ],
)


_RUNNING = flag("--running", text="Only running processes.")

PROCESS_COMMAND = group(
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
            "process:tree",
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
            [IDS, flag("--now", text="KILL at once.")],
        ),
    ],
    instead={
        "create": "hooks and workers start processes; `archivebox plugin run NAME URL` tries the hooks of a plugin",
        "update": "`archivebox process kill ID` ends one, and its record is the system's",
        "delete": "`archivebox manage cleanup_processes --older-than=30d` deletes records of those that have ended",
    },
)


JOB_COMMAND = group(
    "job",
    "Look at jobs, which do one thing to many pages; pause, resume and cancel them.",
    [
        command(
            "list",
            "job:list_",
            "Jobs, the newest first.",
            [flag("--open", text="Only those that have not ended."), LIMIT],
        ),
        command("show", "job:show", "One job, and the pages to which it could not be done.", [word("id", "ID")]),
        command("pause", "job:pause", "Stop it without losing anything.", [IDS]),
        command("resume", "job:resume", "Let it go on.", [IDS]),
        command("cancel", "job:cancel", "End it; what is done stays done.", [IDS]),
    ],
)


MACHINE_ID = word("id", "ID|here")
BY_ITSELF = "a machine is recorded by itself, when a command of ArchiveBox first runs on it"
MACHINE_COMMAND = group(
    "machine",
    "The machines of this collection.",
    [
        list_command(
            "machine", "Machines, the newest first.", MACHINE, "archivebox machine list --hostname nas | jq -r .id"
        ),
        command(
            "show",
            "machine:show",
            "One machine, and what it works on.",
            [
                MACHINE_ID,
                flag(
                    "--alive",
                    text="Exit with status 1 if the machine has not been seen for two minutes; with SQLite, always.",
                ),
            ],
        ),
        command(
            "drain",
            "machine:drain",
            "Have a machine finish what it has begun and take no new work, before it is switched off or upgraded.",
            [
                MACHINE_ID,
                option(
                    "--within",
                    text="Seconds until what still runs returns to the queue.",
                    default=600,
                    show_default=True,
                    type=click.IntRange(min=0, max=86400),
                ),
                flag("--wait", text="Return when no page is at work there any more."),
            ],
        ),
        command("resume", "machine:resume", "Let a drained machine work again.", [MACHINE_ID]),
        command(
            "remove",
            "machine:remove",
            "Remove a machine that is gone from lists; it is listed again when it works again.",
            [word("id", "ID")],
        ),
    ],
    instead={
        "create": BY_ITSELF,
        "update": BY_ITSELF,
        "delete": "`archivebox machine drain ID` ends its work; `archivebox machine remove ID` removes one that is gone"
        " from lists, and keeps its record;"
        " `archivebox manage cleanup_processes --older-than=30d` forgets processes",
    },
)


ORCHESTRATOR_COMMAND = command(
    "orchestrator",
    "server:orchestrate",
    "Start and watch the workers; `run` and `server` do it by themselves.",
    [click.Argument(["args"], nargs=-1)],
    needs=Needs.MODELS,
    hidden=True,
    passes_on=True,
)


COMMANDS: tuple[click.Command, ...] = (
    BINARY_COMMAND,
    INSTALL_COMMAND,
    PLUGIN_COMMAND,
    PROCESS_COMMAND,
    JOB_COMMAND,
    MACHINE_COMMAND,
    ORCHESTRATOR_COMMAND,
)
