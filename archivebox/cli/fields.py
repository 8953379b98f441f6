"""Which fields of each model a command line selects by, and the one option that reads them.

`--url__icontains pears` and `--where url__icontains=pears` are the same: a field, behind two underscores a lookup of
Django's, and a value. `--fields` names all of a command.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import click
from click.core import ParameterSource

from archivebox.lib.suggestions import did_you_mean


class ValueKind(Enum):
    """What kind of value a field has, and the lookups that make sense for it."""

    TEXT = ("exact", "iexact", "icontains", "istartswith", "iendswith", "in")
    NUMBER = ("exact", "gt", "gte", "lt", "lte", "in")
    TIME = ("gt", "gte", "lt", "lte")
    KEY = ("exact", "in")
    NAME = ("exact", "icontains")
    OWN = ("exact",)
    """No column: the command itself knows what it means."""


@dataclass(frozen=True, slots=True)
class RowField:
    """A field that a filter can name: the name in the record, without ``_id``."""

    name: str
    text: str
    kind: ValueKind = ValueKind.TEXT
    choices: tuple[str, ...] = ()
    exact: str = "exact"
    """The lookup of the field's name alone."""
    short: str = ""
    """An option of one letter."""
    is_column: bool = True
    """Whether lists can be sorted by it."""

    @property
    def lookups(self) -> tuple[str, ...]:
        return ("exact", "in") if self.choices and self.kind is ValueKind.TEXT else self.kind.value

    @property
    def meaning(self) -> str:
        return f"{self.text.rstrip('.')}: {', '.join(self.choices)}." if self.choices else self.text

    def options(self, lookup: str) -> list[str]:
        """The spellings of its option: with dashes or underscores; ids also with ``-id`` at the end."""
        if lookup != "exact":
            names = [f"{self.name}__{lookup}"]
        else:
            names = [self.name, *([f"{self.name}_id"] if self.name in WITH_ID else [])]
        spelled = (f"--{name}" for one in names for name in (one.replace("_", "-") if lookup == "exact" else one, one))
        return [*dict.fromkeys(spelled), *([self.short] if self.short and lookup == "exact" else [])]


WITH_ID = frozenset({"snapshot", "crawl", "schedule", "machine"})
STATUSES = ("queued", "started", "sealed", "paused", "cancelled")
RESULT_STATUSES = ("queued", "started", "backoff", "succeeded", "noresults", "failed", "skipped")
BINARY_STATUSES = ("queued", "started", "succeeded", "failed")
PROCESS_STATUSES = ("queued", "running", "exited")
PROCESS_TYPES = ("cli", "supervisord", "orchestrator", "worker", "hook", "binary")

SNAPSHOT = (
    RowField("query", "That this query means: 'host:example.org -#read', see `archivebox search`.", ValueKind.OWN,
          short="-q", is_column=False),
    RowField("tag", "With this tag.", ValueKind.OWN, short="-t", is_column=False),
    RowField("domain", "Of this host; without a port, on every port.", ValueKind.OWN),
    RowField("status", "In this status.", choices=STATUSES),
    RowField("crawl", "Of this crawl: its id.", ValueKind.KEY),
    RowField("before", "Added before: a date, seconds since 1970, or an age: 30d.", ValueKind.OWN, is_column=False),
    RowField("after", "Added since: a date, seconds since 1970, or an age: 7d.", ValueKind.OWN, is_column=False),
    RowField("url", "With this URL."),
    RowField("title", "With this title."),
    RowField("final_url", "That redirects led to."),
    RowField("mime_type", "Of this media type."),
    RowField("http_status", "With this status of HTTP.", ValueKind.NUMBER),
    RowField("depth", "So many links away from a URL that was given.", ValueKind.NUMBER),
    RowField("size", "Of so many bytes.", ValueKind.NUMBER),
    RowField("quality", "Of this quality, in percent.", ValueKind.NUMBER),
    RowField("visibility", "Seen by these.", choices=("public", "members", "private")),
    RowField("bookmarked_at", "Dated so by the list that named it.", ValueKind.TIME),
    RowField("created_at", "Added then.", ValueKind.TIME),
    RowField("sealed_at", "Done then.", ValueKind.TIME),
)  # fmt: skip
CRAWL = (
    RowField("status", "In this status.", choices=STATUSES),
    RowField("label", "With this label."),
    RowField("urls", "With these URLs."),
    RowField("tags_str", "With these tags."),
    RowField("persona", "That visits pages as this persona."),
    RowField("max_depth", "That follows links so many steps away.", ValueKind.NUMBER),
    RowField("schedule", "Of this schedule: its id.", ValueKind.KEY),
    RowField("created_at", "Added then.", ValueKind.TIME),
)
ARCHIVERESULT = (
    RowField("status", "In this status.", choices=RESULT_STATUSES),
    RowField("plugin", "Of this plugin."),
    RowField("hook_name", "Of this hook: the name of its file."),
    RowField("reason", "Failed or skipped for this reason: a code."),
    RowField("snapshot", "Of this page: its id.", ValueKind.KEY),
    RowField("output_str", "That says this of itself."),
    RowField("output_size", "Of so many bytes.", ValueKind.NUMBER),
    RowField("attempts", "Tried so often.", ValueKind.NUMBER),
    RowField("start_ts", "Begun then.", ValueKind.TIME),
    RowField("end_ts", "Ended then.", ValueKind.TIME),
)
TAG = (
    RowField("name", "Of this name, whatever its case.", exact="iexact"),
    RowField("created_at", "Made then.", ValueKind.TIME),
)
BINARY = (
    RowField("name", "Of this name."),
    RowField("status", "In this status.", choices=BINARY_STATUSES),
    RowField("version", "Of this version."),
    RowField("binprovider", "From this provider."),
    RowField("abspath", "At this path."),
)
PROCESS = (
    RowField("type", "Of this kind.", ValueKind.OWN, PROCESS_TYPES, is_column=False),
    RowField("snapshot", "That served this page: its id.", ValueKind.OWN, is_column=False),
    RowField("crawl", "That served this crawl: its id.", ValueKind.OWN, is_column=False),
    RowField("status", "In this status.", choices=PROCESS_STATUSES),
    RowField("plugin", "Of this plugin."),
    RowField("hook_name", "Of this hook: the name of its file."),
    RowField("pid", "With this pid.", ValueKind.NUMBER),
    RowField("exit_code", "With this exit status.", ValueKind.NUMBER),
    RowField("end_reason", "Ended by this."),
    RowField("machine", "On this machine: its id.", ValueKind.KEY),
    RowField("started_at", "Started then.", ValueKind.TIME),
    RowField("ended_at", "Ended then.", ValueKind.TIME),
)
MACHINE = (
    RowField("hostname", "Of this name."),
    RowField("os_platform", "With this system."),
    RowField("seen_at", "Seen then.", ValueKind.TIME),
)
PERSONA = (RowField("name", "Of this name.", ValueKind.NAME),)

FORMER_STATUSES = {
    "indexed": {},
    "archived": {"status": "sealed"},
    "unarchived": {"status__in": "queued,started,paused,cancelled"},
}
"""Statuses of ArchiveBox 0.7 → the filters that stand for them."""
FOLDER_STATUSES = ("present", "valid", "invalid", "duplicate", "orphaned", "corrupted", "unrecognized")
"""Others of it, which said how folders and index agreed."""


class FilterOption(click.Option):
    """`--where FIELD[__LOOKUP]=VALUE`, which also reads `--FIELD[__LOOKUP] VALUE` without an option for each declared.

    Its value: field and lookup, as Django writes them, → what was typed. Of two for the same the last one counts.
    """

    def __init__(self, fields: Sequence[RowField]) -> None:
        self.fields = fields
        some = next(f"{one.name}__icontains" for one in fields if "icontains" in one.lookups)
        super().__init__(
            ["--where"],
            multiple=True,
            default=(),
            metavar="FIELD[__LOOKUP]=VALUE",
            callback=self._read,
            help=f"Only rows for which this is true, and every other filter. --FIELD[__LOOKUP] VALUE means the same: "
            f"--{some} pears. Fields: {', '.join(one.name for one in fields)}.",
        )

    @cached_property
    def asked(self) -> Mapping[str, tuple[RowField, str]]:
        """``url``, ``url__icontains`` … → the field and its lookup."""
        return {
            field.name if lookup == "exact" else f"{field.name}__{lookup}": (field, lookup)
            for field in self.fields
            for lookup in field.lookups
        }

    @property
    def spellings(self) -> Iterable[str]:
        """All options that it reads besides `--where`."""
        return (spelled for field, lookup in self.asked.values() for spelled in field.options(lookup))

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        for name, (field, lookup) in self.asked.items():
            parser.add_option(self, field.options(lookup), dest=f"where {name}")

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        value, source = super().consume_value(ctx, opts)
        typed = [f"{name}={opts[f'where {name}']}" for name in self.asked if f"where {name}" in opts]
        return ((*value, *typed), ParameterSource.COMMANDLINE) if typed else (value, source)

    def _read(self, _ctx: click.Context, _param: click.Parameter, pairs: Sequence[str]) -> dict[str, str]:
        where: dict[str, str] = {}
        for pair in pairs:
            name, equals, value = pair.partition("=")
            asked = name.strip().replace("-", "_")
            if asked not in self.asked:
                asked = asked.removesuffix("_id")
            if not equals or asked not in self.asked:
                hint = did_you_mean(asked, self.asked, "--fields names all.")
                raise click.BadParameter(f"there is no field {name.strip()!r}. {hint}" if equals else
                                         f"{pair!r} is not FIELD=VALUE or FIELD__LOOKUP=VALUE.")  # fmt: skip
            where.update(self._checked(asked, value))
        return where

    def _checked(self, asked: str, value: str) -> Mapping[str, str]:
        """The filter itself, or those that a former word stands for; BadParameter where there are other choices."""
        field, lookup = self.asked[asked]
        if lookup != "exact" or not field.choices or value in field.choices:
            return {asked: value}
        if self.fields is SNAPSHOT and field.name == "status" and value in FORMER_STATUSES:
            return FORMER_STATUSES[value]
        if self.fields is SNAPSHOT and field.name == "status" and value in FOLDER_STATUSES:
            instead = (
                "`archivebox snapshot verify` compares a page with its files, `archivebox doctor` looks at the rest"
            )
            raise click.BadParameter(f"there is no status {value!r} any more: {instead}.")
        known = ", ".join(map(repr, field.choices))
        raise click.BadParameter(f"{value!r} is not one of {known}.", param_hint=f"'{field.options('exact')[0]}'")


def filters(fields: Sequence[RowField]) -> list[click.Parameter]:
    """The options that filter rows of a model: `--where`, and `--fields`, which explains the fields."""

    def show(ctx: click.Context, _param: click.Parameter, value: object) -> None:
        if value and not ctx.resilient_parsing:
            click.echo(fields_page(ctx, fields))
            ctx.exit()

    page = click.Option(
        ["--fields"], is_flag=True, is_eager=True, expose_value=False, callback=show,
        help="Show what each field means, and its lookups.",
    )  # fmt: skip
    return [FilterOption(fields), page]


def fields_page(ctx: click.Context, fields: Sequence[RowField]) -> str:
    """The text of `--fields`: each field with its meaning, and the lookups it has."""
    formatter = ctx.make_formatter()
    formatter.write_text(f"Fields of `{ctx.command_path}`: as --FIELD VALUE or --where FIELD=VALUE, with a lookup as "
                         "--FIELD__LOOKUP VALUE or --where FIELD__LOOKUP=VALUE.")  # fmt: skip
    formatter.write_paragraph()
    formatter.write_dl([(", ".join(filter(None, (one.name, one.short))), one.meaning) for one in fields])
    formatter.write_paragraph()
    by_lookups: dict[tuple[str, ...], list[str]] = {}
    for field in fields:
        by_lookups.setdefault(field.lookups, []).append(field.name)
    for lookups, names in by_lookups.items():
        said = [lookup for lookup in lookups if lookup != "exact"]
        if said:
            alone = "" if "exact" in lookups else ", always with one"
            formatter.write_text(f"{', '.join(names)}: {', '.join(said)}{alone}")
    return formatter.getvalue().rstrip("\n")
