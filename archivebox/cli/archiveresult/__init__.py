"""Owns the options of `archivebox archiveresult`."""

import click

from archivebox.cli.declare import PLUGINS, command, flag, group, option, words
from archivebox.cli.fields import ARCHIVERESULT, PAGE_FILTERS
from archivebox.cli.model_commands import EVERY_ROW, READS, list_command, update_command

COMMAND = group(
    "archiveresult",
    "Results: what each hook made of each page. Queue more of them, look at them, run them again.",
    [
        command(
            "create",
            "archiveresult.changes:create",
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
