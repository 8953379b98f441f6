"""The options of commands that make crawls, choose pages and work on them."""

import click

from archivebox.cli.declare import (
    BG,
    BY_STDIN,
    DRY_RUN,
    EVERY,
    EVERY_ROW,
    FORMATS,
    HTML,
    IDS,
    LIMIT,
    PAGE_FILTERS,
    PLUGINS,
    READS,
    SORT,
    VISIBILITIES,
    YES,
    command,
    delete_command,
    flag,
    group,
    list_command,
    option,
    size_in_bytes,
    update_command,
    word,
    words,
)
from archivebox.cli.fields import ARCHIVERESULT, CRAWL, TAG
from archivebox.cli.former import former_options
from archivebox.cli.session import Needs
from archivebox.export import TITLES

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
ADD_COMMAND = command(
    "add",
    "add",
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


BEGINS_AS = option(
    "--status",
    text="Start it, or leave it paused.",
    default="queued",
    type=click.Choice(["queued", "paused"]),
)
GIVEN = words("urls", "[URL|-]...")
CRAWL_COMMAND = group(
    "crawl",
    "Crawls: make, look at and change them; pause, resume and cancel them.",
    [
        command(
            "create",
            "crawl:create",
            "Create a crawl and return at once. URLs come from the command line, or from a list or records "
            "on stdin. Records of other types, and of existing crawls, are printed unchanged.\n\n"
            "archivebox crawl create --tag news --depth 1 https://example.com/ | archivebox run",
            [GIVEN, *CRAWL_OPTIONS, BEGINS_AS],
        ),
        list_command(
            "crawl",
            "Crawls, the newest first.",
            CRAWL,
            "archivebox crawl list --status paused | archivebox run",
            [flag("--open", text="Only those that are not sealed.")],
        ),
        command("show", "crawl:show", "One crawl and how far it is.", [word("id", "ID")]),
        update_command(
            "crawl",
            "Change crawls, and print their records.",
            "archivebox crawl list --label__icontains news | archivebox crawl update --status paused",
            [
                option(
                    "--status",
                    text="queued: resume it, with its removed pages; paused: pause it; sealed or cancelled: end it.",
                    type=click.Choice(["queued", "paused", "sealed", "cancelled"]),
                ),
                option("--label", text="A name for it.", metavar="TEXT"),
                option("--max-depth", text="Follow links so many steps away.", type=click.IntRange(0, 100)),
            ],
        ),
        delete_command(
            "crawl",
            "End crawls, and remove their pages: `archivebox crawl update --status queued ID` brings them back.",
            CRAWL,
            "archivebox crawl list --urls__icontains spam.example | archivebox crawl delete --yes",
        ),
        command("pause", "crawl:pause", "Stop it without losing anything.", [IDS]),
        command("resume", "crawl:resume", "Let it go on.", [IDS]),
        command("cancel", "crawl:cancel", "End it; archived pages stay.", [IDS]),
    ],
)


LIST_OPTIONS = [
    words("which", "[URL|ID|-]..."),
    *PAGE_FILTERS,
    flag("--removed", "--retired", "retired", text="Those that were removed."),
    LIMIT,
    SORT,
    *FORMATS,
    HTML,
    *former_options("list"),
]
LIST_TEXT = (
    "List snapshots, newest first. With -: those that records on stdin name.\n\n"
    "archivebox list --tag news --status sealed | archivebox export --format zip"
)
LIST_COMMAND = command("list", "snapshot:list_", LIST_TEXT, LIST_OPTIONS, needs=Needs.READING)


SEARCH_COMMAND = command(
    "search",
    "search",
    "Snapshots that a query means. Words have to be in title, URL and tags, or in one of the texts; in double quotes "
    "they are a phrase, a * stands for the rest of a word. Keys choose: is: host: title: url: text: note: has: #tag "
    "after: before: plugin: status: reason: type: mime: http: quality: crawl: id:, with and, or, not and brackets. The "
    "best come first, unless --sort names newest, oldest, title, host, size, worst, or a column.\n\n"
    "archivebox search 'pears host:example.org (#fruit or title:orchard) not is:failed'\n\n"
    "archivebox search 'is:failed host:example.org' | archivebox update",
    [words("terms", "QUERY...", required=True), *PAGE_FILTERS, LIMIT, SORT, *FORMATS, HTML],
    needs=Needs.READING,
)


REMOVE_OPTIONS = [words("which", "[URL|ID|-]..."), *PAGE_FILTERS, EVERY, YES, DRY_RUN, *former_options("remove")]
REMOVE_TEXT = (
    "Remove snapshots: they leave every list, their files stay until retention. Shows first what it would do.\n\n"
    "archivebox search 'is:failed host:example.org' | archivebox remove --yes\n\n"
    f"{BY_STDIN} With neither nothing is removed, unless --all is given."
)
REMOVE_COMMAND = command(
    "remove",
    "snapshot:remove",
    REMOVE_TEXT,
    [*REMOVE_OPTIONS, flag("--undo", text="Bring removed ones back instead.")],
)


CHANGES = [
    option("--tag", "-t", text="Put these tags on, separated by commas.", multiple=True, metavar="NAMES"),
    option("--untag", text="Take these tags off.", multiple=True, metavar="NAMES"),
    option("--title", text="Its title.", metavar="TEXT"),
    option("--visibility", text="Who sees it.", type=click.Choice(VISIBILITIES)),
    option(
        "--status",
        text="queued: resume it; paused: pause it; sealed or cancelled: end it.",
        type=click.Choice(["queued", "paused", "sealed", "cancelled"]),
    ),
]
SNAPSHOT_COMMAND = group(
    "snapshot",
    "Snapshots: make, look at and change them; pause, resume and cancel them.",
    [
        command(
            "create",
            "snapshot:create",
            "Create a crawl, return at once, and print its snapshots. URLs come from the command line, or "
            "from a list or records on stdin; for an existing crawl, its snapshots are printed. Records of "
            "other types are printed unchanged.\n\n"
            "archivebox crawl create https://example.com/ | archivebox snapshot create | archivebox run",
            [GIVEN, *CRAWL_OPTIONS, BEGINS_AS],
        ),
        command("list", "snapshot:list_", LIST_TEXT, LIST_OPTIONS, needs=Needs.READING),
        command(
            "show",
            "snapshot:show",
            "One snapshot and what each hook made of it.",
            [word("id", "ID|URL")],
            needs=Needs.READING,
        ),
        update_command(
            "snapshot",
            "Change snapshots, and print their records.",
            "archivebox snapshot list --tag a | archivebox snapshot update --tag b",
            CHANGES,
            words("which", "[URL|ID|-]..."),
        ),
        command("delete", "snapshot:delete", REMOVE_TEXT, REMOVE_OPTIONS),
        command(
            "verify",
            "snapshot:verify",
            "Compare files with their hashes, and these with their signature; exit status 1 if anything differs.",
            [words("ids", "ID|URL...", required=True)],
        ),
        command("sign", "snapshot:sign", "Sign unsigned snapshots whose files have not changed.", [IDS]),
        command("pause", "snapshot:pause", "Stop it without losing anything.", [IDS]),
        command("resume", "snapshot:resume", "Let it go on.", [IDS]),
        command("cancel", "snapshot:cancel", "End it; archived files stay.", [IDS]),
    ],
)


ARCHIVERESULT_COMMAND = group(
    "archiveresult",
    "Results: what each hook made of each page. Queue more of them, look at them, run them again.",
    [
        command(
            "create",
            "archiveresult:create",
            "Queue hooks of plugins for pages, also of plugins that their crawl did not choose, and print "
            f"the queued results. Succeeded results are not changed. {READS}\n\n"
            "archivebox snapshot list --tag news | archivebox archiveresult create --plugins pdf | archivebox run",
            [
                words("which", "[URL|ID|-]..."),
                *PAGE_FILTERS,
                option("--snapshot", "--snapshot-id", text="For this page.", metavar="ID"),
                EVERY_ROW,
                PLUGINS,
                flag("--run", text="Run them, and wait for it."),
            ],
        ),
        list_command(
            "archiveresult",
            "List results, newest first. With -: those of the pages that records on stdin name.",
            ARCHIVERESULT,
            "archivebox archiveresult list --status failed --plugin pdf | archivebox run",
            [words("ids", "[ID|-]...")],
        ),
        update_command(
            "archiveresult",
            "Have results run again, and print their records.",
            "archivebox archiveresult list --status failed | archivebox archiveresult update --status queued",
            [option("--status", text="queued: run it again.", type=click.Choice(["queued"]))],
        ),
    ],
    instead={
        "delete": "results are part of a page, and of its hashes: `archivebox remove` removes pages, "
        "`archivebox archiveresult update --status queued` makes a result anew"
    },
)


TAG_NAMES = words("ids", "[NAME|-]...")
TAG_COMMAND = group(
    "tag",
    "Tags: make, rename, merge and delete them.",
    [
        command(
            "create",
            "tag:create",
            "Create tags and print their records; existing tags are not changed.\n\n"
            "archivebox tag create news science | jq -r .name",
            [words("names", "NAME...", required=True)],
        ),
        list_command(
            "tag",
            "Tags, by name, and how many pages have each.",
            TAG,
            "archivebox tag list --name old | archivebox list -",
        ),
        update_command(
            "tag",
            "Give tags another name, and print their records.",
            "archivebox tag list --name__istartswith old- | archivebox tag update --name old --merge",
            [
                option("--name", "-n", text="The new name.", metavar="NAME"),
                flag("--merge", text="Where there is such a tag, or several are chosen, make them one."),
            ],
            TAG_NAMES,
        ),
        delete_command(
            "tag",
            "Take tags off all pages, and delete them.",
            TAG,
            "archivebox tag list --name__icontains unused | archivebox tag delete --yes",
            TAG_NAMES,
        ),
    ],
)


UPDATE_COMMAND = command(
    "update",
    "snapshot:retry",
    "Try again at once what failed, waits for its retry, or was never run.\n\n"
    "archivebox list --tag news | archivebox update\n\n"
    f"{BY_STDIN} With neither it is done everywhere at a terminal, elsewhere (cron) only with --all.",
    [words("which", "[URL|ID|-]..."), *PAGE_FILTERS, EVERY, PLUGINS, BG, *former_options("update")],
)


RUN_COMMAND = command(
    "run",
    "run",
    "Work until nothing is left to do now.\n\n"
    "archivebox archiveresult list --status failed | archivebox run\n\n"
    "JSON records in a pipe or a file on stdin are run instead: a Snapshot with a url that is not here is added; of "
    "one that is here, or of a Crawl, the crawl goes on; an ArchiveResult is run again. Without any record there the "
    "queue is worked on. - reads records whatever stdin is, and without any does nothing.",
    [
        click.Argument(["source"], required=False, metavar="[-]"),
        flag("--daemon", text="Keep running, and process new work."),
        option("--crawl", "--crawl-id", text="Run this crawl, and nothing else.", metavar="ID"),
        option("--snapshot", "--snapshot-id", text="Run this snapshot, and nothing else.", metavar="ID"),
        option("--archiveresult", text="Run this one result again, and nothing else.", metavar="ID"),
    ],
)


WORKER_COMMAND = command(
    "worker", "run:worker", "Keep running, and process new work; the same as `run --daemon`.", hidden=True
)


SCHEDULE_COMMAND = group(
    "schedule",
    "Repeat crawls by schedule: add, show, pause and remove schedules.",
    [
        command(
            "add",
            "schedule:add",
            "Archive URLs repeatedly. Each time starts a crawl, while `archivebox server` or `archivebox run"
            " --daemon` is running.\n\n"
            "To follow a feed, give its URL and --depth 1: new links are archived.",
            [
                words("urls", "URL...", required=True),
                option(
                    "--every",
                    text="When: hourly, daily, weekly, monthly, yearly, a length such as 6h or 2d, or a cron expression"
                    " of five fields such as '0 6 * * MON-FRI'.",
                    default="daily",
                    metavar="WHEN",
                ),
                option("--timezone", text="By whose clocks.", default="UTC", metavar="ZONE"),
                option("--depth", text="Follow links so many steps away.", default=0, type=click.IntRange(0, 100)),
                option("--tag", text="Tags for these pages, separated by commas.", multiple=True, metavar="NAMES"),
                PLUGINS,
                option("--persona", text="Visit the pages as this persona; else ACTIVE_PERSONA.", metavar="NAME"),
                option("--label", text="A name for this schedule.", default="", metavar="TEXT"),
                option("--config", text="A setting for its crawls.", multiple=True, metavar="KEY=VALUE"),
                option(
                    "--overlap",
                    text="While its last crawl still runs: wait for its end, or skip this time.",
                    default="wait",
                    type=click.Choice(["wait", "skip"]),
                ),
                option(
                    "--catch-up",
                    text="After times at which nothing was running here: crawl once, or skip them.",
                    default="once",
                    type=click.Choice(["once", "skip"]),
                ),
                flag("--recapture", text="Archive links again that one of its crawls has archived."),
                flag("--if-changed", text="If a page has not changed, note only that it was checked."),
                *former_options("schedule"),
            ],
        ),
        command("list", "schedule:list_", "Schedules, the newest first.", [LIMIT]),
        command("show", "schedule:show", "One schedule and its last crawls.", [word("id", "ID")]),
        command("pause", "schedule:pause", "Start no more crawls of it; running ones continue.", [IDS]),
        command("resume", "schedule:resume", "Go on with the next of its times.", [IDS]),
        command("run", "schedule:run_now", "Make its next crawl now; its times stay as they are.", [IDS]),
        command("remove", "schedule:remove", "Forget it; what its crawls archived stays.", [IDS]),
    ],
)


TRANSFER_MODES = ("copy", "link", "move")

IMPORT_COMMAND = command(
    "import",
    "import_",
    "Import pages with their files from the data folder of ArchiveBox 0.4 to 0.9, from a WARC, WACZ,"
    " HAR, MHTML or SingleFile file, or from a folder of these and of saved pages. Shows first what "
    "it found.\n\n"
    "Pages that were imported before are skipped: to continue an interrupted import, repeat the "
    "command. The source is not changed, unless its files are moved.",
    [
        word("path", "PATH"),
        option(
            "--mode",
            text="What becomes of the files: copy; link, which shares their content on one disk; or move, which "
            "deletes them there once everything was imported and compared.",
            default="copy",
            type=click.Choice(TRANSFER_MODES),
        ),
        option("--visibility", text="Who sees the pages; else VISIBILITY.", type=click.Choice(VISIBILITIES)),
        flag("--whole", text="With accounts, schedules and settings; superusers become administrators."),
        flag("--dry-run", text="Only show what would be imported."),
        flag("--yes", text="Do it without asking."),
        BG,
    ],
)


EXPORT_FORMATS = ". ".join(f"{name}: {title[0].lower()}{title[1:]}" for name, title in TITLES.items())

EXPORT_COMMAND = command(
    "export",
    "export",
    "Write the pages that a query means (see `archivebox search`) into one file.\n\n"
    "archivebox list --tag news | archivebox export --format warc --output news.warc.gz\n\n"
    f"{BY_STDIN} With neither all pages are written at a terminal, elsewhere (cron) only with --all.",
    [
        words("terms", "[QUERY|-]..."),
        EVERY,
        option(
            "--format", text=f"What kind of file. {EXPORT_FORMATS}.", default="zip", type=click.Choice(list(TITLES))
        ),
        option(
            "--output",
            "-o",
            text="Where to, - for stdout; else it stays in the collection, in exports/.",
            metavar="FILE",
        ),
        BG,
    ],
    needs=Needs.READING,
)


SHARE_COMMAND = group(
    "share",
    "Create, list and revoke share links, which show a page or the results of a saved search to everyone who has them.",
    [
        command(
            "create",
            "share:create",
            "Create a link to a page, or with --search to a saved search. Its address is printed once.",
            [
                words("page", "[URL|ID]"),
                option("--search", text="The saved search of this name.", metavar="NAME"),
                option("--user", text="Whose it is; without it, the administrator's.", metavar="NAME"),
                option("--days", text="Days until it expires.", default=30, type=click.IntRange(1, 365)),
            ],
        ),
        command(
            "list",
            "share:list_",
            "Links that open something, the newest first.",
            [flag("--all", text="Include revoked and expired links.")],
        ),
        command("revoke", "share:revoke", "Revoke one.", [word("id", "ID")]),
    ],
)


COMMANDS: tuple[click.Command, ...] = (
    ADD_COMMAND,
    CRAWL_COMMAND,
    LIST_COMMAND,
    SEARCH_COMMAND,
    REMOVE_COMMAND,
    SNAPSHOT_COMMAND,
    ARCHIVERESULT_COMMAND,
    TAG_COMMAND,
    UPDATE_COMMAND,
    RUN_COMMAND,
    WORKER_COMMAND,
    SCHEDULE_COMMAND,
    IMPORT_COMMAND,
    EXPORT_COMMAND,
    SHARE_COMMAND,
)
