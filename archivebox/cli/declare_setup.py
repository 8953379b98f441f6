"""Owns the options of the commands that set things up, and of those that tell about the software itself."""

import click

from archivebox.cli.declare import command, flag, group, option, word, words
from archivebox.cli.session import Needs

COMMANDS: tuple[click.Command, ...] = (
    command("init", "init", "Make a collection here, or bring one up to date. Does no harm to one.", needs=Needs.NEW),
    group(
        "config",
        "Settings: what they are, where they come from, and changing them.",
        [
            command(
                "get",
                "config:get",
                "The values that hold.",
                [words("names", "NAME...", required=True)],
                needs=Needs.ANY,
            ),
            command(
                "set",
                "config:set_",
                "Write settings to ArchiveBox.conf. NAME alone asks for its value: that is the way for secrets.",
                [words("pairs", "NAME=VALUE|NAME...", required=True)],
            ),
            command(
                "unset",
                "config:unset",
                "Take settings out of ArchiveBox.conf.",
                [words("names", "NAME...", required=True)],
            ),
            command(
                "explain",
                "config:explain",
                "What each place says, and which one holds.",
                [word("name", "NAME")],
                needs=Needs.ANY,
            ),
            command(
                "list",
                "config:list_",
                "Settings that differ from their defaults.",
                [words("names", "[WORD]..."), flag("--all", text="Every setting there is.")],
                needs=Needs.ANY,
            ),
        ],
    ),
    command(
        "doctor",
        "doctor",
        "Check programs, fonts, sandbox, disk, database, settings; says what to do.",
        needs=Needs.MODELS,
    ),
    command(
        "install",
        "install",
        "Install the programs that plugins need: all, or those named.",
        [words("names", "[NAME]..."), flag("--dry-run", text="Only say what would be installed, and how.")],
        needs=Needs.NEW,
    ),
    group(
        "plugin",
        "Look at plugins, try their hooks, check those you write.",
        [
            command("list", "plugin:list_", "Plugins, and whether they are on.", needs=Needs.ANY),
            command(
                "show", "plugin:show", "One plugin: hooks, settings, programs.", [word("name", "NAME")], needs=Needs.ANY
            ),
            command(
                "run",
                "plugin:run",
                "Run one plugin's hooks on a URL, by themselves, into a folder.",
                [
                    word("name", "NAME"),
                    word("url", "URL"),
                    option("--hook", text="Only this hook.", metavar="FILE"),
                    option("--output", text="Folder for what it makes; else a new one.", metavar="FOLDER"),
                    option("--config", text="A setting for this run.", multiple=True, metavar="KEY=VALUE"),
                ],
            ),
            command(
                "lint",
                "plugin:lint_",
                "What authors should correct.",
                [words("names", "[NAME|FOLDER]...")],
                needs=Needs.ANY,
            ),
        ],
    ),
    command(
        "version",
        "version",
        "The version; with --verbose the versions of everything else.",
        [
            flag("--verbose", text="Python, libraries, folders and programs too."),
            flag("--quiet", "-q", text="The number alone."),
        ],
        needs=Needs.NOTHING,
    ),
    command("help", "help", "All commands, or one.", [words("names", "[COMMAND]...")], needs=Needs.NOTHING),
)
