"""Owns the options of `archivebox job`."""

from archivebox.cli.declare import IDS, LIMIT, command, flag, group, word

COMMAND = group(
    "job",
    "Look at jobs, which do one thing to many pages; pause, resume and cancel them.",
    [
        command(
            "list",
            "job.body:list_",
            "Jobs, the newest first.",
            [flag("--open", text="Only those that have not ended."), LIMIT],
        ),
        command("show", "job.body:show", "One job, and the pages to which it could not be done.", [word("id", "ID")]),
        command("pause", "job.body:pause", "Stop it without losing anything.", [IDS]),
        command("resume", "job.body:resume", "Let it go on.", [IDS]),
        command("cancel", "job.body:cancel", "End it; what is done stays done.", [IDS]),
    ],
)
