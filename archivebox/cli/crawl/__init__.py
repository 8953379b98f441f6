"""Owns the options of `archivebox crawl`."""

import click

from archivebox.cli.add import CRAWL_OPTIONS
from archivebox.cli.declare import IDS, command, flag, group, option, word, words
from archivebox.cli.fields import CRAWL
from archivebox.cli.model_commands import delete_command, list_command, update_command

BEGINS_AS = option(
    "--status",
    text="Start it, or leave it paused.",
    default="queued",
    type=click.Choice(["queued", "paused"]),
)
GIVEN = words("urls", "[URL|-]...")
COMMAND = group(
    "crawl",
    "Crawls: make, look at and change them; pause, resume and cancel them.",
    [
        command(
            "create",
            "crawl.changes:create",
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
        command("show", "crawl.body:show", "One crawl and how far it is.", [word("id", "ID")]),
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
        command("pause", "crawl.body:pause", "Stop it without losing anything.", [IDS]),
        command("resume", "crawl.body:resume", "Let it go on.", [IDS]),
        command("cancel", "crawl.body:cancel", "End it; archived pages stay.", [IDS]),
    ],
)
