"""Owns the entry: from what was typed to an exit status."""

import sys
from collections.abc import Sequence

import click

from archivebox.cli import collection_commands, engine_commands, page_commands
from archivebox.cli.declare import Group
from archivebox.cli.former import INSTEAD, translated
from archivebox.cli.output import Output
from archivebox.cli.session import BAD_INPUT
from archivebox.lib.suggestions import did_you_mean

COMMANDS = (*page_commands.COMMANDS, *engine_commands.COMMANDS, *collection_commands.COMMANDS)


class CommandLine(Group):
    """Every command; a word that is none of them is answered by the nearest."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not args[0].startswith("-"):
            otherwise = "`archivebox help` lists them."
            hint = did_you_mean(args[0], self.list_commands(ctx), otherwise, written="`archivebox {}`".format)
            if within := [f"`archivebox {name} {args[0]}`" for name in self._groups_with(args[0])]:
                hint = f"Did you mean {', '.join(within)}?"
            hint = INSTEAD.get(args[0], hint)
            if "://" in args[0]:
                hint = f"To archive a page: archivebox add '{args[0]}'"
            raise click.UsageError(f"There is no command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def _groups_with(self, word: str) -> list[str]:
        """The commands that have a command of this name."""
        commands = sorted(self.commands.items())
        return [name for name, one in commands if isinstance(one, click.Group) and word in one.commands]


def _help_without_command() -> None:
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is None:
        Output().text(ctx.get_help() + "\n")


PROGRAM = CommandLine(
    "archivebox",
    COMMANDS,
    help="Keep web pages for decades.\n\n`archivebox add URL` archives a page; `archivebox server` shows your archive.",
    no_args_is_help=False,
    invoke_without_command=True,
    callback=_help_without_command,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def main(args: Sequence[str] | None = None) -> int:
    """Run what was typed; returns the exit status (architecture: 0, 1, 2, 3, 130, 143)."""
    given = translated(sys.argv[1:] if args is None else args)
    if given[:1] == ["--version"]:
        given[0] = "version"
    try:
        code = PROGRAM.main(given, prog_name="archivebox", standalone_mode=False)
    except click.ClickException as error:
        return _refuse(error)
    except (click.Abort, KeyboardInterrupt):
        return 130
    return int(code or 0)


def _refuse(error: click.ClickException) -> int:
    """Wrong options: one sentence and where to read more; a group without its command: its page."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return BAD_INPUT
    ctx = getattr(error, "ctx", None)
    hint = f" See `{ctx.command_path} --help`." if ctx is not None and ctx.parent is not None else ""
    Output().warn(f"{error.format_message().rstrip('.')}.{hint}".replace("?.", "?").replace("'.", "'."))
    return BAD_INPUT
