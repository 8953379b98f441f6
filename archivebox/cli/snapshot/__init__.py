"""Owns the options of `archivebox snapshot`."""

import click

from archivebox.cli.add import CRAWL_OPTIONS
from archivebox.cli.crawl import BEGINS_AS, GIVEN
from archivebox.cli.declare import IDS, VISIBILITIES, command, group, option, word, words
from archivebox.cli.list import OPTIONS as LIST_OPTIONS
from archivebox.cli.list import TEXT as LIST_TEXT
from archivebox.cli.model_commands import update_command
from archivebox.cli.remove import OPTIONS as REMOVE_OPTIONS
from archivebox.cli.remove import TEXT as REMOVE_TEXT
from archivebox.cli.session import Needs

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
COMMAND = group(
    "snapshot",
    "Snapshots: make, look at and change them; pause, resume and cancel them.",
    [
        command(
            "create",
            "snapshot.changes:create",
            "Create a crawl, return at once, and print its snapshots. URLs come from the command line, or "
            "from a list or records on stdin; for an existing crawl, its snapshots are printed. Records of "
            "other types are printed unchanged.\n\n"
            "archivebox crawl create https://example.com/ | archivebox snapshot create | archivebox run",
            [GIVEN, *CRAWL_OPTIONS, BEGINS_AS],
        ),
        command("list", "list.body", LIST_TEXT, LIST_OPTIONS, needs=Needs.READING),
        command(
            "show",
            "snapshot.body:show",
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
        command("delete", "remove.body:delete", REMOVE_TEXT, REMOVE_OPTIONS),
        command(
            "verify",
            "snapshot.body:verify",
            "Compare files with their hashes, and these with their signature; exit status 1 if anything differs.",
            [words("ids", "ID|URL...", required=True)],
        ),
        command("sign", "snapshot.body:sign", "Sign unsigned snapshots whose files have not changed.", [IDS]),
        command("pause", "snapshot.body:pause", "Stop it without losing anything.", [IDS]),
        command("resume", "snapshot.body:resume", "Let it go on.", [IDS]),
        command("cancel", "snapshot.body:cancel", "End it; archived files stay.", [IDS]),
    ],
)
