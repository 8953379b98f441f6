"""Owns the options of `archivebox config`."""

from archivebox.cli.declare import command, flag, group, option, word, words
from archivebox.cli.session import Needs

PLACES = (
    option("--crawl", text="Of this crawl.", metavar="ID", default=""),
    option("--snapshot", text="Of this page.", metavar="ID", default=""),
    option("--persona", text="Of this persona.", metavar="NAME", default=""),
)
MACHINE = option("--machine", text="Of this machine alone.", metavar="ID|here", default="")
COMMAND = group(
    "config",
    "Show and change settings.",
    [
        command(
            "get",
            "config.body:get",
            "Print the values in effect.",
            [words("names", "NAME...", required=True)],
            needs=Needs.ANY,
        ),
        command(
            "set",
            "config.body:set_",
            "Set settings, for all machines of a database. NAME alone asks for its value: that is the way for secrets.",
            [words("pairs", "NAME=VALUE|NAME...", required=True), MACHINE],
        ),
        command(
            "unset",
            "config.body:unset",
            "Take settings out of what all machines share, of ArchiveBox.conf, and of this machine.",
            [words("names", "NAME...", required=True), MACHINE, *PLACES],
        ),
        command(
            "share",
            "config.body:share",
            "Move settings from ArchiveBox.conf of this machine to what all machines share.",
            [words("names", "[NAME]...")],
        ),
        command(
            "explain",
            "config.body:explain",
            "Show where a setting is set, and which value is in effect.",
            [word("name", "NAME"), *PLACES],
            needs=Needs.ANY,
        ),
        command(
            "list",
            "config.body:list_",
            "Settings that differ from their defaults.",
            [words("names", "[WORD]..."), flag("--all", text="Every setting there is.")],
            needs=Needs.ANY,
        ),
    ],
)
