"""Owns the options of `archivebox snapshot`."""

from archivebox.cli.declare import IDS, command, group, word

COMMAND = group(
    "snapshot",
    "Look at snapshots; pause, resume and cancel them.",
    [
        command("show", "snapshot.body:show", "One snapshot and what each hook made of it.", [word("id", "ID|URL")]),
        command(
            "verify",
            "snapshot.body:verify",
            "Compare its files with their hashes, and these with their signature; exit status 1 if anything differs.",
            [word("id", "ID|URL")],
        ),
        command("sign", "snapshot.body:sign", "Sign what was kept without a signature, if it is as it was.", [IDS]),
        command("pause", "snapshot.body:pause", "Stop it without losing anything.", [IDS]),
        command("resume", "snapshot.body:resume", "Let it go on.", [IDS]),
        command("cancel", "snapshot.body:cancel", "End it; what is archived stays.", [IDS]),
    ],
)
