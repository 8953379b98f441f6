"""Owns the options of `archivebox plugin`."""

import click

from archivebox.cli.declare import command, flag, group, option, word, words
from archivebox.cli.session import Needs

COMMAND = group(
    "plugin",
    "Look at plugins, try their hooks, check those you write.",
    [
        command("list", "plugin.body:list_", "Plugins, and whether they are on.", needs=Needs.ANY),
        command(
            "show",
            "plugin.body:show",
            "One plugin: hooks, settings, programs.",
            [word("name", "NAME")],
            needs=Needs.ANY,
        ),
        command(
            "reference",
            "plugin.reference:reference",
            "What plugins keep, when they run, how they are set: as Markdown.",
            [words("names", "[NAME]...")],
            needs=Needs.ANY,
        ),
        command(
            "run",
            "plugin.run:run",
            "Run one plugin's hooks on a URL, after those they need, into a folder.",
            [
                word("name", "NAME"),
                word("url", "URL"),
                option("--hook", text="Only this hook.", metavar="FILE"),
                option("--output", text="Folder for what it makes; else a new one.", metavar="FOLDER"),
                option("--config", text="A setting for this run.", multiple=True, metavar="KEY=VALUE"),
            ],
        ),
        command(
            "new",
            "plugin.new:new",
            "Write the folder of a plugin to begin with.",
            [
                word("name", "NAME"),
                option(
                    "--lang", text="What its hook is written in.", default="py", type=click.Choice(["py", "sh", "js"])
                ),
                flag("--page", text="Its hook looks at the live page in the browser."),
            ],
        ),
        command(
            "lint",
            "plugin.body:lint_",
            "What authors should correct.",
            [words("names", "[NAME|FOLDER]...")],
            needs=Needs.ANY,
        ),
    ],
)
