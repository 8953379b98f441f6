"""Owns the options of `archivebox add`."""

import click

from archivebox.cli.declare import BG, PLUGINS, VISIBILITIES, command, flag, option, size_in_bytes, words
from archivebox.cli.former import former_options
from archivebox.cli.session import Needs

PARSERS = ("auto", "url_list", "txt", "html", "rss", "netscape", "jsonl", "csv", "md", "sitemap", "warc",
           "posts", "jsonlz4", "sqlite", "history")  # fmt: skip


def _reader_of(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    """The name of a reader, by its own or by that of an earlier version."""
    if value in PARSERS:
        return value
    from archivebox.lib.links.formats import reader_named  # readers of links take a while, and few name one

    try:
        return reader_named(value).value
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


CRAWL_OPTIONS: tuple[click.Parameter, ...] = (
    option("--depth", text="Follow links so many steps away; else MAX_DEPTH.", type=click.IntRange(0, 100)),
    option("--tag", text="Tags for these pages, separated by commas.", multiple=True, metavar="NAMES"),
    PLUGINS,
    option(
        "--parser",
        text="How files are read; history: the visited pages of Firefox's places.sqlite, not its bookmarks.",
        default="auto",
        metavar=f"[{'|'.join(PARSERS)}]",
        callback=_reader_of,
        shell_complete=lambda _ctx, _param, begun: [name for name in PARSERS if name.startswith(begun)],
    ),
    flag("--update", text="For URLs that are archived already, run only missing hooks."),
    flag("--only-new", text="Leave out URLs that are there already."),
    flag("--overwrite", text="Remove earlier versions once the new one is archived; `remove --undo` restores."),
    flag("--if-changed", text="If a page has not changed since its last version, note only that it was checked."),
    option("--visibility", text="Who sees the pages; else VISIBILITY.", type=click.Choice(VISIBILITIES)),
    option("--persona", text="Visit the pages as this persona; else ACTIVE_PERSONA.", metavar="NAME"),
    option("--label", text="A name for this crawl.", default="", metavar="TEXT"),
    option("--max-urls", text="At most so many URLs in this crawl.", type=click.IntRange(min=1)),
    option(
        "--url-allowlist",
        "--domain-allowlist",
        text="Take only links that match: regular expressions.",
        metavar="REGEX",
    ),
    option(
        "--url-denylist",
        "--domain-denylist",
        text="Leave out links that match: regular expressions.",
        metavar="REGEX",
    ),
    option(
        "--max-size",
        "--crawl-max-size",
        text="At most so many bytes received, such as 750m or 2g.",
        callback=size_in_bytes,
        metavar="SIZE",
    ),
    option("--config", text="A setting for this crawl.", multiple=True, metavar="KEY=VALUE"),
)
"""What may be said of any crawl that is made."""
COMMAND = command(
    "add",
    "add.body",
    "Archive URLs from the command line, from files, and from stdin (-). FILE and --file FILE are the same.\n\n"
    "Of URLs given here, all are accepted or none. Of files and stdin, valid lines are accepted, "
    "and every other line is reported with its number.\n\n"
    "archivebox list --tag news --csv url | archivebox add --if-changed",
    [
        words("urls", "[URL|FILE|-]..."),
        option("--file", text="Read URLs from a file; may be given more than once.", multiple=True, metavar="FILE"),
        *CRAWL_OPTIONS,
        BG,
        flag("--index-only", "--start-paused", text="Write the rows, and run nothing until the crawl is resumed."),
        *former_options("add"),
    ],
    needs=Needs.ANY,
)
