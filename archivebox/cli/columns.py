"""Owns which columns of each model are asked for on a command line: as `--status failed`, or `--url__icontains pears`.

What may follow a column, its lookups, are those of Django, as far as they are of use for its kind of value.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import click

from archivebox.cli.declare import flag, option


class ValueKind(Enum):
    """What a column holds, and so what may be asked of it beside its value."""

    TEXT = ("iexact", "icontains", "istartswith", "iendswith", "in")
    NUMBER = ("gt", "gte", "lt", "lte", "in")
    TIME = ("gt", "gte", "lt", "lte")
    KEY = ("in",)


@dataclass(frozen=True, slots=True)
class ColumnFilter:
    """A column as it is asked for: its name is that of the record's field, without ``_id``."""

    name: str
    text: str
    kind: ValueKind = ValueKind.TEXT
    choices: tuple[str, ...] = ()
    exact: str = "exact"
    """The lookup of the option without one."""
    is_option: bool = True
    """False: only its lookups are asked for."""

    @property
    def lookups(self) -> tuple[str, ...]:
        return ("in",) if self.choices else self.kind.value


STATUSES = ("queued", "started", "sealed", "paused", "cancelled")
RESULT_STATUSES = ("queued", "started", "backoff", "succeeded", "noresults", "failed", "skipped")
BINARY_STATUSES = ("queued", "started", "succeeded", "failed")
PROCESS_STATUSES = ("queued", "running", "exited")

SNAPSHOT = (
    ColumnFilter("url", "With this URL."),
    ColumnFilter("title", "With this title."),
    ColumnFilter("final_url", "That redirects led to.", is_option=False),
    ColumnFilter("mime_type", "Of this media type."),
    ColumnFilter("http_status", "With this status of HTTP.", ValueKind.NUMBER),
    ColumnFilter("depth", "So many links away from a URL that was given.", ValueKind.NUMBER),
    ColumnFilter("size", "Of so many bytes.", ValueKind.NUMBER, is_option=False),
    ColumnFilter("quality", "Of this quality, in percent.", ValueKind.NUMBER, is_option=False),
    ColumnFilter("visibility", "Seen by these.", choices=("public", "members", "private")),
    ColumnFilter("bookmarked_at", "Dated so by the list that named it.", ValueKind.TIME, is_option=False),
    ColumnFilter("created_at", "Added then.", ValueKind.TIME, is_option=False),
    ColumnFilter("sealed_at", "Done then.", ValueKind.TIME, is_option=False),
)
CRAWL = (
    ColumnFilter("status", "In this status.", choices=STATUSES),
    ColumnFilter("label", "With this label."),
    ColumnFilter("urls", "With these URLs.", is_option=False),
    ColumnFilter("tags_str", "With these tags.", is_option=False),
    ColumnFilter("persona", "That visits pages as this persona."),
    ColumnFilter("max_depth", "That follows links so many steps away.", ValueKind.NUMBER),
    ColumnFilter("schedule", "Of this schedule.", ValueKind.KEY),
    ColumnFilter("created_at", "Added then.", ValueKind.TIME, is_option=False),
)
ARCHIVERESULT = (
    ColumnFilter("status", "In this status.", choices=RESULT_STATUSES),
    ColumnFilter("plugin", "Of this plugin."),
    ColumnFilter("hook_name", "Of this hook: the name of its file."),
    ColumnFilter("reason", "Failed or skipped for this reason: a code."),
    ColumnFilter("snapshot", "Of this page.", ValueKind.KEY),
    ColumnFilter("output_str", "That says this of itself.", is_option=False),
    ColumnFilter("output_size", "Of so many bytes.", ValueKind.NUMBER, is_option=False),
    ColumnFilter("attempts", "Tried so often.", ValueKind.NUMBER, is_option=False),
    ColumnFilter("start_ts", "Begun then.", ValueKind.TIME, is_option=False),
    ColumnFilter("end_ts", "Ended then.", ValueKind.TIME, is_option=False),
)
TAG = (
    ColumnFilter("name", "Of this name, whatever its case.", exact="iexact"),
    ColumnFilter("created_at", "Made then.", ValueKind.TIME, is_option=False),
)
BINARY = (
    ColumnFilter("name", "Of this name."),
    ColumnFilter("status", "In this status.", choices=BINARY_STATUSES),
    ColumnFilter("version", "Of this version."),
    ColumnFilter("binprovider", "From this provider."),
    ColumnFilter("abspath", "There.", is_option=False),
)
PROCESS = (
    ColumnFilter("status", "In this status.", choices=PROCESS_STATUSES),
    ColumnFilter("plugin", "Of this plugin."),
    ColumnFilter("hook_name", "Of this hook: the name of its file.", is_option=False),
    ColumnFilter("pid", "With this pid.", ValueKind.NUMBER, is_option=False),
    ColumnFilter("exit_code", "With this exit status.", ValueKind.NUMBER),
    ColumnFilter("end_reason", "Ended by this.", is_option=False),
    ColumnFilter("machine", "On this machine.", ValueKind.KEY),
    ColumnFilter("started_at", "Started then.", ValueKind.TIME, is_option=False),
    ColumnFilter("ended_at", "Ended then.", ValueKind.TIME, is_option=False),
)
MACHINE = (
    ColumnFilter("hostname", "Of this name."),
    ColumnFilter("os_platform", "With this system.", is_option=False),
    ColumnFilter("seen_at", "Seen then.", ValueKind.TIME, is_option=False),
)

FORMER_STATUSES = {"indexed": "", "archived": "sealed", "unarchived": "queued,started,paused,cancelled"}
"""Statuses of ArchiveBox 0.7 → ours, separated by commas; empty: any."""
FOLDER_STATUSES = ("present", "valid", "invalid", "duplicate", "orphaned", "corrupted", "unrecognized")
"""Others of it, which said how folders and index agreed."""


def _status_of_page(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """One of ours, or what a former one stands for."""
    if value is None or value in STATUSES:
        return value
    if value in FOLDER_STATUSES:
        instead = "`archivebox snapshot verify` compares a page with its files, `archivebox doctor` looks at the rest"
        raise click.BadParameter(f"there is no status {value!r} any more: {instead}.")
    if value not in FORMER_STATUSES:
        raise click.BadParameter(f"{value!r} is not one of {', '.join(map(repr, STATUSES))}.")
    return FORMER_STATUSES[value] or None


WITH_ID = frozenset({"snapshot", "crawl", "schedule", "machine"})
"""Options that earlier versions wrote with ``-id`` behind them; both are taken."""
FILTER_TYPES = ("exact", "substring", "domain", "regex", "tag", "timestamp")


def column_options(columns: Iterable[ColumnFilter]) -> list[click.Parameter]:
    """An option for each column, and hidden ones for its lookups, which the page of the command names in one line."""
    return [one for column in columns for one in _options(column)]


def _options(column: ColumnFilter) -> Iterator[click.Option]:
    name = column.name.replace("_", "-")
    if column.is_option:
        former = [f"--{name}-id"] if column.name in WITH_ID else []
        kind = click.Choice(column.choices) if column.choices else None
        metavar = None if column.choices else _METAVARS[column.kind]
        yield option(f"--{name}", *former, column.name, text=column.text, type=kind, metavar=metavar)
    for lookup in column.lookups:
        asked = f"{column.name}__{lookup}"
        yield option(f"--{asked}", asked, text="", hidden=True, metavar=_METAVARS[column.kind])


_METAVARS = {ValueKind.TEXT: "TEXT", ValueKind.NUMBER: "NUMBER", ValueKind.TIME: "TIME", ValueKind.KEY: "ID"}


def lookups_text(columns: Sequence[ColumnFilter]) -> str:
    """Which columns have which lookups: a line for each, which a page of help keeps as it is."""
    by_lookups: dict[tuple[str, ...], list[str]] = {}
    for column in columns:
        by_lookups.setdefault(column.lookups, []).append(column.name)
    some = next(f"--{one.name}__icontains TEXT" for one in columns if "icontains" in one.lookups)
    lines = (f"{', '.join(names)}: {', '.join(lookups)}" for lookups, names in by_lookups.items())
    return f"Columns have lookups, as in {some}:\n\n\b\n" + "\n".join(lines)


FILTERS: tuple[click.Parameter, ...] = (
    option("--query", "-q", text="That this query means: 'host:example.org -#read', see `archivebox search`."),
    option("--tag", "-t", text="With this tag.", metavar="NAME"),
    option("--domain", text="Of this host; without a port, on every port.", metavar="HOST"),
    option("--status", text="In this status.", metavar=f"[{'|'.join(STATUSES)}]", callback=_status_of_page),
    option("--crawl", "--crawl-id", text="Of this crawl.", metavar="ID"),
    option("--before", text="Added before: a date, seconds since 1970, or an age such as 30d.", metavar="TIME"),
    option("--after", text="Added since: a date, seconds since 1970, or an age such as 7d.", metavar="TIME"),
    option(
        "--filter-type",
        text="How to read arguments that are not ids: as URLs, parts of URLs, hosts, regular expressions, tags, times.",
        type=click.Choice(FILTER_TYPES),
    ),
    *column_options(SNAPSHOT),
)
"""Which Snapshots: :mod:`archivebox.cli.select` reads them."""
SNAPSHOT_LOOKUPS = lookups_text(SNAPSHOT)

SORT = option("--sort", text="In the order of this column; with - before it, the other way round.", metavar="COLUMN")
CSV = option("--csv", text="These fields of the records, separated by commas, as CSV.", metavar="FIELDS")
WITH_HEADERS = flag("--with-headers", text="Begin CSV with the names of its fields, and HTML as a page.")
HTML = flag("--html", text="A list of links, as HTML.")
FORMATS: tuple[click.Parameter, ...] = (CSV, WITH_HEADERS)
"""How a list is printed."""
