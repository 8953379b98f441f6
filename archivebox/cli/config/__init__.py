"""Owns the options of `archivebox config`."""

from archivebox.cli.declare import command, flag, group, option, word, words
from archivebox.cli.session import Needs

PLACES = (
    option("--crawl", text="Of this crawl.", metavar="ID", default=""),
    option("--snapshot", text="Of this page.", metavar="ID", default=""),
    option("--persona", text="Of this persona.", metavar="NAME", default=""),
)
COMMAND = group(
    "config",
    "Settings: what they are, where they come from, and changing them.",
    [
        command(
            "get",
            "config.body:get",
            "The values that hold.",
            [words("names", "NAME...", required=True)],
            needs=Needs.ANY,
        ),
        command(
            "set",
            "config.body:set_",
            "Write settings to ArchiveBox.conf. NAME alone asks for its value: that is the way for secrets.",
            [words("pairs", "NAME=VALUE|NAME...", required=True)],
        ),
        command(
            "unset",
            "config.body:unset",
            "Take settings out of ArchiveBox.conf and of this machine, where hooks write them.",
            [words("names", "NAME...", required=True), *PLACES],
        ),
        command(
            "explain",
            "config.body:explain",
            "What each place says, and which one holds.",
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
