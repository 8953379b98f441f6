"""The options of `archivebox backup`."""

import click

from archivebox.cli.declare import Group, command, flag, option, word
from archivebox.cli.session import Needs

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


COMMAND = BackupGroup(
    "backup",
    [
        command(
            "create",
            "backup.body:create",
            "Back up the collection into a folder while it is in use. Files that have not changed since the "
            "last backup there are linked, not copied. `create` may be left out.",
            [DESTINATION, _REREAD, _WITH],
        ),
        command("list", "backup.body:list_", "The backups in a folder.", [DESTINATION], needs=Needs.NOTHING),
        command(
            "verify",
            "backup.body:verify",
            "Compare all files of a backup, or of the newest, with their hashes; exit status 1 if anything differs.",
            [DESTINATION, BACKUP],
            needs=Needs.NOTHING,
        ),
        command(
            "prune",
            "backup.body:prune",
            "Delete the backups that no option keeps, and interrupted ones. The newest always stays.",
            [DESTINATION, *_KEEP, flag("--dry-run", text="Only say which.")],
            needs=Needs.NOTHING,
        ),
    ],
    help="Back up the collection, and manage its backups.\n\n`archivebox backup DEST` makes one.",
    short_help="Back up the collection, and manage its backups",
    no_args_is_help=True,
)
