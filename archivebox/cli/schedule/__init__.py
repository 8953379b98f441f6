"""Owns the options of `archivebox schedule`."""

import click

from archivebox.cli.declare import IDS, LIMIT, PLUGINS, command, flag, group, option, word, words
from archivebox.cli.former import former_options

COMMAND = group(
    "schedule",
    "Repeat crawls by schedule: add, show, pause and remove schedules.",
    [
        command(
            "add",
            "schedule.body:add",
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
        command("list", "schedule.body:list_", "Schedules, the newest first.", [LIMIT]),
        command("show", "schedule.body:show", "One schedule and its last crawls.", [word("id", "ID")]),
        command("pause", "schedule.body:pause", "Start no more crawls of it; running ones continue.", [IDS]),
        command("resume", "schedule.body:resume", "Go on with the next of its times.", [IDS]),
        command("run", "schedule.body:run_now", "Make its next crawl now; its times stay as they are.", [IDS]),
        command("remove", "schedule.body:remove", "Forget it; what its crawls archived stays.", [IDS]),
    ],
)
