"""Owns the options of `archivebox binary`."""

from archivebox.cli.declare import command, group, words
from archivebox.cli.fields import BINARY
from archivebox.cli.model_commands import EVERY_ROW, READS, delete_command, list_command
from archivebox.cli.session import Needs

NAMES = words("ids", "[NAME|ID|-]...")
COMMAND = group(
    "binary",
    "The programs that plugins need.",
    [
        list_command(
            "binary",
            "Programs on this machine.",
            BINARY,
            "archivebox binary list --status failed | archivebox binary update",
        ),
        command(
            "create",
            "binary.changes:create",
            "Install programs that plugins need, as `archivebox install` does.\n\n"
            "archivebox binary create yt-dlp ffmpeg | jq -r .abspath",
            [words("names", "NAME...", required=True)],
            needs=Needs.NEW,
        ),
        command(
            "update",
            "binary.changes:update",
            f"Upgrade programs, like `archivebox install --upgrade`; missing ones are looked for again. {READS}\n\n"
            "archivebox binary list --status failed | archivebox binary update",
            [NAMES, EVERY_ROW],
        ),
        delete_command(
            "binary",
            "Delete the records of programs; their files stay, and the next hook that needs one looks for it again.",
            BINARY,
            "archivebox binary list --binprovider env | archivebox binary delete --yes",
            NAMES,
        ),
    ],
)
