"""The options of `archivebox restore`."""

from archivebox.cli.backup import BACKUP, DESTINATION
from archivebox.cli.declare import command
from archivebox.cli.session import Needs

COMMAND = command(
    "restore",
    "backup.body:restore",
    "Make a collection of a backup, the newest unless one is named, in the folder of --data-dir, which must be empty "
    "or not there. Each file is compared with its hash. One of PostgreSQL goes to the empty database of DATABASE_URL.",
    [DESTINATION, BACKUP],
    needs=Needs.NOTHING,
)
