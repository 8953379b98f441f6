"""Owns how the commands of models are declared, all alike: `list`, `update` and `delete` of rows."""

from collections.abc import Sequence

import click

from archivebox.cli.declare import LIMIT, command, flag, words
from archivebox.cli.fields import FORMATS, SORT, Field, filters
from archivebox.cli.session import Needs

EVERY_ROW = flag("--all", "every", text="Every one.")
YES = flag("--yes", "-y", text="Do it without asking.")
DRY_RUN = flag("--dry-run", text="Only say what would be done.")
IDS_OR_STDIN = words("ids", "[ID|-]...")
READS = (
    "Without arguments that select, records in a pipe or a file on stdin select; records of other types are printed "
    "unchanged."
)


def list_command(
    model: str,
    what: str,
    fields: Sequence[Field],
    example: str,
    more: Sequence[click.Parameter] = (),
) -> click.Command:
    """``what``: sentences; ``example``: of a pipe."""
    text = f"{what}\n\n{example}"
    options = [*more, *filters(fields), LIMIT, SORT, *FORMATS]
    return command("list", f"{model}.body:list_", text, options, needs=Needs.READING)


def update_command(
    model: str, what: str, example: str, changes: Sequence[click.Parameter], chosen: click.Parameter = IDS_OR_STDIN
) -> click.Command:
    """``changes``: options that say what to change."""
    text = f"{what} {READS}\n\n{example}"
    return command("update", f"{model}.changes:update", text, [chosen, EVERY_ROW, *changes])


def delete_command(
    model: str,
    what: str,
    fields: Sequence[Field],
    example: str,
    chosen: click.Parameter = IDS_OR_STDIN,
) -> click.Command:
    text = f"{what} {READS} It asks first, unless --yes is given.\n\n{example}"
    return command("delete", f"{model}.changes:delete", text, [chosen, EVERY_ROW, *filters(fields), YES, DRY_RUN])
