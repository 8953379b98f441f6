"""Owns the options of `archivebox crawl`."""

from archivebox.cli.declare import IDS, LIMIT, command, flag, group, word

COMMAND = group(
    "crawl",
    "Look at crawls; pause, resume and cancel them.",
    [
        command(
            "list",
            "crawl.body:list_",
            "Crawls, the newest first.",
            [flag("--open", text="Only those that are not sealed."), LIMIT],
        ),
        command("show", "crawl.body:show", "One crawl and how far it is.", [word("id", "ID")]),
        command("pause", "crawl.body:pause", "Stop it without losing anything.", [IDS]),
        command("resume", "crawl.body:resume", "Let it go on.", [IDS]),
        command("cancel", "crawl.body:cancel", "End it; what is archived stays.", [IDS]),
    ],
)
