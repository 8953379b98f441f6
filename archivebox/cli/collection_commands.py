"""The options of commands that look after a collection: its settings, storage, backups, personas, server."""

import click

from archivebox.cli.declare import (
    DRY_RUN,
    EVERY_ROW,
    FORMATS,
    LIMIT,
    READS,
    YES,
    Group,
    command,
    flag,
    group,
    option,
    word,
    words,
)
from archivebox.cli.fields import PERSONA, filters
from archivebox.cli.former import former_options
from archivebox.cli.session import Needs

INIT_COMMAND = command(
    "init",
    "status:init",
    "Make a collection here, or bring one up to date. Does no harm to one.",
    [
        flag("--force", text="Begin anew in a folder whose database is lost. Takes nothing from one that has it."),
        *former_options("init"),
    ],
    needs=Needs.MODELS,
)


STATUS_COMMAND = command(
    "status", "status", "Show what the collection contains, what is running, and what needs your attention."
)


DOCTOR_COMMAND = command(
    "doctor",
    "doctor",
    "Check programs, fonts, sandbox, disk, database, settings; says what to do.",
    needs=Needs.MODELS,
)


SERVER_COMMAND = command(
    "server",
    "server",
    "Serve the web interface, and process the queue.",
    [
        click.Argument(["address"], required=False, metavar="[HOST:PORT]"),
        option("--bind", text="The same, as an option.", metavar="HOST:PORT"),
        option("--replay", text="Where archived pages are shown; else the next port.", metavar="HOST:PORT"),
        *former_options("server"),
    ],
    needs=Needs.NEW,
)


PLACES = (
    option("--crawl", text="Of this crawl.", metavar="ID", default=""),
    option("--snapshot", text="Of this page.", metavar="ID", default=""),
    option("--persona", text="Of this persona.", metavar="NAME", default=""),
)
OF_MACHINE = option("--machine", text="Of this machine alone.", metavar="ID|here", default="")
CONFIG_COMMAND = group(
    "config",
    "Show and change settings.",
    [
        command(
            "get",
            "config:get",
            "Print the values in effect.",
            [words("names", "NAME...", required=True)],
            needs=Needs.ANY,
        ),
        command(
            "set",
            "config:set_",
            "Set settings, for all machines of a database. NAME alone asks for its value: that is the way for secrets.",
            [words("pairs", "NAME=VALUE|NAME...", required=True), OF_MACHINE],
        ),
        command(
            "unset",
            "config:unset",
            "Take settings out of what all machines share, of ArchiveBox.conf, and of this machine.",
            [words("names", "NAME...", required=True), OF_MACHINE, *PLACES],
        ),
        command(
            "share",
            "config:share",
            "Move settings from ArchiveBox.conf of this machine to what all machines share.",
            [words("names", "[NAME]...")],
        ),
        command(
            "explain",
            "config:explain",
            "Show where a setting is set, and which value is in effect.",
            [word("name", "NAME"), *PLACES],
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
)


PERSONA_COMMAND = group(
    "persona",
    "Who crawls are to the sites they visit: profile, cookies, user agent, size of the window.",
    [
        command(
            "list",
            "persona:list_",
            "Personas of this collection.\n\narchivebox persona list --name__icontains old | archivebox persona delete",
            [
                *filters(PERSONA),
                LIMIT,
                *FORMATS,
            ],
        ),
        command(
            "create",
            "persona:create",
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
            "persona:update",
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
            "persona:delete",
            f"Delete personas with their profiles and cookies. {READS} It asks first, unless --yes is given.\n\n"
            "archivebox persona list --name__icontains old | archivebox persona delete --yes",
            [words("names", "[NAME|-]..."), EVERY_ROW, YES, DRY_RUN],
        ),
        command("show", "persona:show", "One persona, and how to log in as it.", [word("name", "NAME")]),
        command(
            "import-cookies",
            "persona:import_cookies",
            "Take cookies from a file in Netscape format (cookies.txt); - reads stdin.",
            [word("name", "NAME"), word("file", "FILE|-")],
        ),
        command(
            "share",
            "persona:share",
            "Share it with exactly these accounts; administrators can always use it.",
            [word("name", "NAME"), words("users", "[USER]...")],
        ),
        command(
            "remove",
            "persona:remove",
            "Delete one with its profile and cookies.",
            [word("name", "NAME"), flag("--yes", text="Do it without asking.")],
        ),
    ],
)


TOKEN_COMMAND = group(
    "token",
    "Tokens by which programs use the API: make, list, revoke them.",
    [
        command(
            "create",
            "token:create",
            "Make one. It is printed once, and cannot be shown again.",
            [
                word("label", "LABEL"),
                option("--user", text="Whose it is; without it, the administrator's.", metavar="NAME"),
                option(
                    "--scope",
                    text="What it allows; can be given more than once. Default: read.",
                    multiple=True,
                    type=click.Choice(["feed", "read", "add", "write", "admin"]),
                ),
                option("--days", text="Days until it expires.", default=365, type=click.IntRange(1, 36_500)),
                flag("--never-expires", text="It is good until it is revoked."),
            ],
        ),
        command("list", "token:list_", "Tokens, the newest first.", [flag("--all", text="Revoked ones too.")]),
        command("revoke", "token:revoke", "Revoke one.", [word("id", "ID")]),
    ],
)


STORAGE_COMMAND = Group(
    "storage",
    commands=[
        command(
            "verify",
            "storage:verify",
            "Compare what the object store of STORAGE_URL lists with what was stored there: keys and sizes. "
            "Status 1 if something differs.",
            [flag("--digests", text="Read every object, and compare its SHA-256.")],
        ),
        command(
            "move",
            "storage:move",
            "Store the sealed pages of this data folder that are not in STORAGE_URL. Repeat it after an interruption.",
            [
                option(
                    "--to",
                    text="Instead, copy what is in STORAGE_URL to another store, or to this data folder (`disk`).",
                    metavar="URL|disk",
                    default="",
                )
            ],
        ),
        command(
            "gc",
            "storage:collect",
            "Delete stored bodies that no page has any more, and objects that nothing has needed for STORAGE_GRACE.",
        ),
        command(
            "dedupe",
            "storage:dedupe",
            "Store bodies that pages have copies of once again, as after an import or a copy without hard links.",
        ),
    ],
    help="Maintain storage: files that pages share on the disk, and the object store.",
    no_args_is_help=True,
)


DESTINATION = word("destination", "DEST")
BACKUP = click.Argument(["backup"], metavar="[BACKUP]", required=False)
_KEEP = [
    option(
        f"--keep-{name}",
        name,
        text="So many of the newest." if name == "last" else f"The newest of so many {name} periods.",
        type=click.IntRange(min=0),
        metavar="N",
    )
    for name in ("last", "daily", "weekly", "monthly", "yearly")
]
_FOLDERS = click.Choice(["exports", "logs", "machines"])
_WITH = option("--with", "also", text="Also these; may be given more than once.", multiple=True, type=_FOLDERS)
_REREAD = flag("--verify", "reread", text="Read what is there before it is linked, and replace damaged files.")


class BackupGroup(Group):
    """`backup DEST` makes a backup; the first word may also say what else is to be done."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_create = args and not set(args) & {*self.commands, *self.get_help_option_names(ctx)}
        return super().parse_args(ctx, ["create", *args] if is_create else args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or self.commands["create"]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, args if args[0] in self.commands else ["create", *args])


BACKUP_COMMAND = BackupGroup(
    "backup",
    [
        command(
            "create",
            "backup:create",
            "Back up the collection into a folder while it is in use. Files that have not changed since the "
            "last backup there are linked, not copied. `create` may be left out.",
            [DESTINATION, _REREAD, _WITH],
        ),
        command("list", "backup:list_", "The backups in a folder.", [DESTINATION], needs=Needs.NOTHING),
        command(
            "verify",
            "backup:verify",
            "Compare all files of a backup, or of the newest, with their hashes; exit status 1 if anything differs.",
            [DESTINATION, BACKUP],
            needs=Needs.NOTHING,
        ),
        command(
            "prune",
            "backup:prune",
            "Delete the backups that no option keeps, and interrupted ones. The newest always stays.",
            [DESTINATION, *_KEEP, flag("--dry-run", text="Only say which.")],
            needs=Needs.NOTHING,
        ),
    ],
    help="Back up the collection, and manage its backups.\n\n`archivebox backup DEST` makes one.",
    short_help="Back up the collection, and manage its backups",
    no_args_is_help=True,
)


RESTORE_COMMAND = command(
    "restore",
    "backup:restore",
    "Make a collection of a backup, the newest unless one is named, in the folder of --data-dir, which must be empty "
    "or not there. Each file is compared with its hash. One of PostgreSQL goes to the empty database of DATABASE_URL.",
    [DESTINATION, BACKUP],
    needs=Needs.NOTHING,
)


MANAGE_COMMAND = command(
    "manage",
    "manage",
    "Look after the collection: `cleanup_processes --older-than=30d [--dry-run]`, `reindex [--only URL|ID...]`, "
    "`move_database --to URL|sqlite`, `login_link [USER]`, `reset_second_factor USER`, and every command of Django's.",
    [word("action", "COMMAND"), click.Argument(["args"], nargs=-1, metavar="[OPTION]...")],
    needs=Needs.PAGES,
    passes_on=True,
)


MCP_COMMAND = command(
    "mcp",
    "mcp",
    "Serve the Model Context Protocol on stdin and stdout, so that an assistant can search, read and"
    " add pages. The assistant's program starts this command. Added pages are archived while a "
    "server or `archivebox run` is running.",
    [flag("--read-only", text="Allow searching and reading, but not adding.")],
)


HELP_COMMAND = command(
    "help", "version:help_", "All commands, or one.", [words("names", "[COMMAND]...")], needs=Needs.NOTHING
)


VERSION_COMMAND = command(
    "version",
    "version",
    "The version; with --verbose the versions of everything else.",
    [
        flag("--verbose", text="Python, libraries, folders and programs too."),
        flag("--quiet", "-q", text="The number alone."),
    ],
    needs=Needs.NOTHING,
)


COMMANDS: tuple[click.Command, ...] = (
    INIT_COMMAND,
    STATUS_COMMAND,
    DOCTOR_COMMAND,
    SERVER_COMMAND,
    CONFIG_COMMAND,
    PERSONA_COMMAND,
    TOKEN_COMMAND,
    STORAGE_COMMAND,
    BACKUP_COMMAND,
    RESTORE_COMMAND,
    MANAGE_COMMAND,
    MCP_COMMAND,
    HELP_COMMAND,
    VERSION_COMMAND,
)
