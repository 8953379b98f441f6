"""Owns the options of `archivebox persona`."""

from archivebox.cli.declare import LIMIT, command, flag, group, option, word, words
from archivebox.cli.fields import FORMATS, PERSONA, filters
from archivebox.cli.former import former_options
from archivebox.cli.model_commands import DRY_RUN, EVERY_ROW, READS, YES

COMMAND = group(
    "persona",
    "Who crawls are to the sites they visit: profile, cookies, user agent, size of the window.",
    [
        command(
            "list",
            "persona.body:list_",
            "Personas of this collection.\n\narchivebox persona list --name__icontains old | archivebox persona delete",
            [
                *filters(PERSONA),
                LIMIT,
                *FORMATS,
            ],
        ),
        command(
            "create",
            "persona.body:create",
            "Make personas, and print their records: `add --persona NAME` visits pages as one.\n\n"
            "archivebox persona create work private | jq -r .folder",
            [
                words("names", "NAME...", required=True),
                option("--config", text="A setting of their crawls.", multiple=True, metavar="KEY=VALUE"),
                *former_options("persona create"),
            ],
        ),
        command(
            "update",
            "persona.body:update",
            f"Change personas, and print their records. {READS}\n\n"
            "archivebox persona list | archivebox persona update --config USER_AGENT=Mozilla",
            [
                words("names", "[NAME|-]..."),
                EVERY_ROW,
                option("--name", text="A new name, if no crawl or schedule uses the old one.", metavar="NAME"),
                option("--config", text="A setting of its crawls.", multiple=True, metavar="KEY=VALUE"),
            ],
        ),
        command(
            "delete",
            "persona.body:delete",
            f"Delete personas with their profiles and cookies. {READS} It asks first, unless --yes is given.\n\n"
            "archivebox persona list --name__icontains old | archivebox persona delete --yes",
            [words("names", "[NAME|-]..."), EVERY_ROW, YES, DRY_RUN],
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
            "Share it with exactly these accounts; administrators can always use it.",
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
