"""Owns the options of `archivebox plugin`."""

import click

from archivebox.cli.declare import command, flag, group, option, word, words
from archivebox.cli.session import Needs

COMMAND = group(
    "plugin",
    "List plugins, write your own, try and check them.",
    [
        command("list", "plugin.body:list_", "List plugins, and whether they are on.", needs=Needs.ANY),
        command(
            "show",
            "plugin.body:show",
            "Show a plugin: hooks, settings, programs.",
            [word("name", "NAME")],
            needs=Needs.ANY,
        ),
        command(
            "reference",
            "plugin.reference:reference",
            "Print what plugins save, when they run, and their settings, as Markdown.",
            [words("names", "[NAME]...")],
            needs=Needs.ANY,
        ),
        command(
            "run",
            "plugin.run:run",
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
            "plugin.new:new",
            "Create a plugin from a template.",
            [
                word("name", "NAME"),
                option("--lang", text="Language of its hook.", default="py", type=click.Choice(["py", "sh", "js"])),
                flag("--page", text="Its hook reads the live page in the browser; py or js."),
            ],
        ),
        command(
            "lint",
            "plugin.body:lint_",
            "Check plugins for mistakes.",
            [words("names", "[NAME|FOLDER]...")],
            needs=Needs.ANY,
        ),
    ],
)
