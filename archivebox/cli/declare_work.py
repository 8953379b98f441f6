"""Owns the options of the commands that make or change archived pages."""

import click

from archivebox.cli.declare import FILTERS, command, flag, option, word, words
from archivebox.cli.session import Needs

PARSERS = ("auto", "url_list", "txt", "html", "rss", "netscape", "jsonl")

_PLUGINS = option(
    "--plugins", "--extract", text="Only these plugins and what they require, separated by commas.", metavar="NAMES"
)
_BG = flag("--bg", text="Only queue it, and say whether anything will run it.")

COMMANDS: tuple[click.Command, ...] = (
    command(
        "add",
        "add",
        "Archive URLs: those given, those of files, and those on stdin (-). FILE and --file FILE are the same.\n\n"
        "URLs given here are all taken or none. Of files and stdin the valid lines are taken, "
        "and every other line is reported with its number.",
        [
            words("urls", "[URL|FILE|-]..."),
            option("--file", text="Take URLs from a file; may be given more than once.", multiple=True, metavar="FILE"),
            option("--depth", text="Follow links so many steps away; else MAX_DEPTH.", type=click.IntRange(0, 100)),
            option("--tag", text="Tags for these pages, separated by commas.", multiple=True, metavar="NAMES"),
            _PLUGINS,
            option("--parser", text="How files are read.", default="auto", type=click.Choice(PARSERS)),
            _BG,
            flag("--update", text="Of URLs that are there already, run only what is missing."),
            flag("--overwrite", text="Retire the versions that are there; `remove --undo` brings them back."),
            flag("--index-only", text="Write the rows, and run nothing until the crawl is resumed."),
            option("--label", text="A name for this crawl.", default="", metavar="TEXT"),
            option("--max-urls", text="At most so many URLs in this crawl.", type=click.IntRange(min=1)),
            option("--url-allowlist", text="Take only links that match: regular expressions.", metavar="REGEX"),
            option("--url-denylist", text="Leave out links that match: regular expressions.", metavar="REGEX"),
            click.Option(["--max-size"], hidden=True),
            option("--config", text="A setting for this crawl.", multiple=True, metavar="KEY=VALUE"),
        ],
        needs=Needs.ANY,
    ),
    command(
        "update",
        "update",
        "Try again at once what failed, waits for its retry, or was never run. Without a choice: everywhere.",
        [words("which", "[URL|ID]..."), *FILTERS, _PLUGINS, _BG],
    ),
    command(
        "run",
        "run",
        "Work until nothing is left to do now.",
        [
            flag("--daemon", text="Stay, and take what comes."),
            option("--crawl", text="Run this crawl, and nothing else.", metavar="ID"),
            option("--snapshot", text="Run this snapshot, and nothing else.", metavar="ID"),
            option("--archiveresult", text="Run this one result again, and nothing else.", metavar="ID"),
        ],
    ),
    command(
        "remove",
        "remove",
        "Retire snapshots: they leave every list, their files stay until retention. Shows first what it would do.",
        [
            words("which", "[URL|ID]..."),
            *FILTERS,
            flag("--yes", text="Do it without asking."),
            flag("--undo", text="Bring retired ones back instead."),
        ],
    ),
    command(
        "server",
        "server",
        "Show the collection in a browser, and work on what is queued.",
        [
            click.Argument(["address"], required=False, metavar="[HOST:PORT]"),
            option("--bind", text="The same, as an option.", metavar="HOST:PORT"),
            option("--replay", text="Where archived pages are shown; else the next port.", metavar="HOST:PORT"),
        ],
        needs=Needs.NEW,
    ),
    command("worker", "run:worker", "Stay, and take what comes: the same as `run --daemon`.", hidden=True),
    command(
        "orchestrator",
        "engine:orchestrator",
        "Start and watch the workers; `run` and `server` do it by themselves.",
        [click.Argument(["args"], nargs=-1)],
        needs=Needs.MODELS,
        hidden=True,
        passes_on=True,
    ),
    command(
        "manage",
        "manage",
        "Look after the collection: `cleanup_processes --older-than=30d [--dry-run]`, `login_link [USER]`, and every "
        "command of Django's.",
        [word("action", "COMMAND"), click.Argument(["args"], nargs=-1, metavar="[OPTION]...")],
        needs=Needs.PAGES,
        passes_on=True,
    ),
)
