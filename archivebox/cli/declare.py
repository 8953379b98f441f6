"""Owns how a command is declared: its options at once, its body by name, imported when it runs.

Bodies import models, which need Django (0.3 s); `help` and completion need the options alone.
"""

from collections.abc import Callable, Mapping, Sequence

import click
from click.shell_completion import CompletionItem

from archivebox.cli.fields import SNAPSHOT, RowField, filters
from archivebox.cli.session import Globals, Needs, carry_out
from archivebox.lib.quantities import parse_size

_META = "archivebox.globals"


def size_in_bytes(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    """What an option such as ``--max-size 2g`` says; a callback, since click's types are classes."""
    try:
        return None if value is None else parse_size(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def join_values(_ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> str | None:
    """Names of an option that is given more than once, as one text."""
    return ",".join(value) or None


def _remember(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Global options stand before or behind the command's name; the last one wins."""
    if value:
        ctx.meta.setdefault(_META, {})[param.name] = value


def globals_of(ctx: click.Context) -> Globals:
    """The global options given so far."""
    return Globals(**ctx.meta.get(_META, {}))


GLOBAL_OPTIONS: tuple[click.Parameter, ...] = (
    click.Option(
        ["--data-dir"],
        metavar="FOLDER",
        expose_value=False,
        callback=_remember,
        help="The collection. Else DATA_DIR, the current folder if it is one, ./data.",
    ),
    click.Option(
        ["--json"],
        is_flag=True,
        expose_value=False,
        callback=_remember,
        help="JSON lines on a terminal too, as in a pipe.",
    ),
)


class Command(click.Command):
    """A command that has the options of all commands, as click adds `--help`: they are declared once."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        *own, help_option = super().get_params(ctx)
        return [*own, *GLOBAL_OPTIONS, help_option]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Also what an option reads beside its own names, as each field of a filter."""
        found = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("-"):
            more = (name for param in self.params for name in getattr(param, "spellings", ()))
            found += [CompletionItem(name) for name in more if name.startswith(incomplete)]
        return found


class Group(Command, click.Group):
    """Commands below one word."""


def _body(target: str, needs: Needs) -> Callable[..., int]:
    def call(**params: object) -> int:
        return carry_out(target, needs, globals_of(click.get_current_context()), params)

    return call


def command(
    name: str,
    target: str,
    text: str,
    params: Sequence[click.Parameter] = (),
    *,
    needs: Needs = Needs.COLLECTION,
    hidden: bool = False,
    passes_on: bool = False,
) -> click.Command:
    """A command whose body is ``module:function``. ``passes_on``: options that it does not know are arguments."""
    return Command(
        name,
        callback=_body(f"archivebox.cli.{target}", needs),
        params=list(params),
        help=text,
        short_help=_first_sentence(text),
        hidden=hidden,
        context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False} if passes_on else {},
    )


class CommandGroup(Group):
    """Commands on one kind of thing; of those that are not among them it says what does instead."""

    instead: Mapping[str, str]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in self.instead:
            raise click.UsageError(f"There is no `{ctx.command_path} {args[0]}`: {self.instead[args[0]]}.", ctx)
        return super().resolve_command(ctx, args)


def group(
    name: str, text: str, commands: Sequence[click.Command], instead: Mapping[str, str] | None = None
) -> click.Group:
    """``instead``: names that people may type for commands that make no sense here → what to use."""
    made = CommandGroup(name, commands, help=text, short_help=_first_sentence(text), no_args_is_help=True)
    made.instead = instead or {}
    return made


def _first_sentence(text: str) -> str:
    """Click's own would be cut at 45 letters."""
    return text.partition(". ")[0].partition("\n")[0].rstrip(".")


def option(*names: str, text: str, default: object = None, **more: object) -> click.Option:
    return click.Option(names, help=text, default=default, **more)  # type: ignore[arg-type]  # click's own names


def flag(*names: str, text: str) -> click.Option:
    return click.Option(names, is_flag=True, help=text)


def words(name: str, metavar: str, *, required: bool = False) -> click.Argument:
    """Any number of arguments."""
    return click.Argument([name], nargs=-1, metavar=metavar, required=required)


def word(name: str, metavar: str) -> click.Argument:
    return click.Argument([name], metavar=metavar)


LIMIT = option("--limit", text="At most so many; on a terminal 50 unless given.", type=click.IntRange(min=1))

IDS = words("ids", "ID...", required=True)

PLUGINS = option(
    "--plugins",
    "--plugin",
    "--extract",
    "-p",
    text="Only these plugins and what they require, separated by commas; may be given more than once.",
    metavar="NAMES",
    multiple=True,
    callback=join_values,
)

VISIBILITIES = ("public", "members", "private")

BG = flag("--bg", text="Only queue it, and say whether anything will run it.")

EVERY = flag("--all", "every", text="Every page.")

BY_STDIN = (
    "Without arguments that select, JSON records in a pipe or a file on stdin select, even if there "
    "are none; otherwise stdin is not read. - always reads records from stdin; options then select "
    "among them."
)
"""Of commands that :mod:`archivebox.cli.selection` serves."""

# --- options of commands on rows ---

FILTER_TYPES = ("exact", "substring", "domain", "regex", "tag", "timestamp")
PAGE_FILTERS: tuple[click.Parameter, ...] = (
    *filters(SNAPSHOT),
    option(
        "--filter-type",
        text="How to read arguments that are not ids: as URLs, parts of URLs, hosts, regular expressions, tags, times.",
        type=click.Choice(FILTER_TYPES),
    ),
)
"""Which Snapshots: :mod:`archivebox.cli.selection` reads them."""

SORT = option("--sort", text="In the order of this field; with - before it, the other way round.", metavar="FIELD")
CSV = option("--csv", text="These fields of the records, separated by commas, as CSV.", metavar="FIELDS")
WITH_HEADERS = flag("--with-headers", text="Begin CSV with the names of its fields, and HTML as a page.")
HTML = flag("--html", text="A list of links, as HTML.")
FORMATS: tuple[click.Parameter, ...] = (CSV, WITH_HEADERS)
"""How a list is printed."""
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
    fields: Sequence[RowField],
    example: str,
    more: Sequence[click.Parameter] = (),
) -> click.Command:
    """``what``: sentences; ``example``: of a pipe."""
    text = f"{what}\n\n{example}"
    options = [*more, *filters(fields), LIMIT, SORT, *FORMATS]
    return command("list", f"{model}:list_", text, options, needs=Needs.READING)


def update_command(
    model: str, what: str, example: str, changes: Sequence[click.Parameter], chosen: click.Parameter = IDS_OR_STDIN
) -> click.Command:
    """``changes``: options that say what to change."""
    text = f"{what} {READS}\n\n{example}"
    return command("update", f"{model}:update", text, [chosen, EVERY_ROW, *changes])


def delete_command(
    model: str,
    what: str,
    fields: Sequence[RowField],
    example: str,
    chosen: click.Parameter = IDS_OR_STDIN,
) -> click.Command:
    text = f"{what} {READS} It asks first, unless --yes is given.\n\n{example}"
    return command("delete", f"{model}:delete", text, [chosen, EVERY_ROW, *filters(fields), YES, DRY_RUN])
