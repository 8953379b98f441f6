"""Owns `archivebox help`."""

import click

from archivebox.cli.errors import BadInputError
from archivebox.cli.session import Session


def run(session: Session, *, names: tuple[str, ...]) -> int:
    """Print the page of a command, of a command inside a group, or of the program."""
    ctx = click.get_current_context().find_root()
    for name in names:
        command = ctx.command.get_command(ctx, name) if isinstance(ctx.command, click.Group) else None
        if command is None:
            raise BadInputError(f"There is no command {' '.join(names)!r}. `archivebox help` lists them.")
        ctx = click.Context(command, info_name=name, parent=ctx)
    session.out.text(ctx.get_help() + "\n")
    return 0
