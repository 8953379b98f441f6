"""Owns the options of `archivebox persona`."""

from archivebox.cli.declare import command, flag, group, option, word, words

COMMAND = group(
    "persona",
    "Who crawls are to the sites they visit: profile, cookies, user agent, size of the window.",
    [
        command("list", "persona.body:list_", "Personas of this collection."),
        command(
            "create",
            "persona.body:create",
            "Make one: `add --persona NAME` visits pages as it.",
            [
                word("name", "NAME"),
                option("--config", text="A setting of its crawls.", multiple=True, metavar="KEY=VALUE"),
            ],
        ),
        command("show", "persona.body:show", "One persona, and how to log in as it.", [word("name", "NAME")]),
        command(
            "import-cookies",
            "persona.body:import_cookies",
            "Take cookies from a file in Netscape format (cookies.txt); - reads stdin.",
            [word("name", "NAME"), word("file", "FILE|-")],
        ),
        command(
            "share",
            "persona.body:share",
            "Let crawls of these accounts visit pages as it, and of no other; administrators' always may.",
            [word("name", "NAME"), words("users", "[USER]...")],
        ),
        command(
            "remove",
            "persona.body:remove",
            "Delete one with its profile and cookies.",
            [word("name", "NAME"), flag("--yes", text="Do it without asking.")],
        ),
    ],
)
