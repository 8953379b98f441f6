"""Owns `archivebox manage`: looking after the collection, and Django's own commands."""

from collections.abc import Mapping
from datetime import timedelta

from django.core.management import ManagementUtility

from archivebox.cli.errors import BadInputError
from archivebox.cli.manage import move_database, reindex
from archivebox.cli.manage.parser import Parser
from archivebox.cli.output import counted
from archivebox.cli.session import Session
from archivebox.cli.values import age
from archivebox.core.crawl_control.process_retention import FAILED_STAY, cleanup_processes

SHORTEST = timedelta(hours=1)


def refuse_early(params: Mapping[str, object]) -> None:
    """A password in a URL on the command line."""
    args = params.get("args")
    if params.get("action") == "move_database" and isinstance(args, tuple):
        move_database.refuse_passwords(args)


def run(session: Session, *, action: str, args: tuple[str, ...]) -> int:
    if action == "cleanup_processes":
        return _cleanup_processes(session, args)
    if action == "reindex":
        return reindex.run(session, args)
    if action == "move_database":
        return move_database.run(session, args)
    try:
        ManagementUtility(["archivebox manage", action, *args]).execute()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    return 0


def _cleanup_processes(session: Session, args: tuple[str, ...]) -> int:
    parser = Parser("cleanup_processes", "Delete old records of processes that have ended.")
    parser.add_argument("--older-than", required=True, metavar="AGE", help="such as 30d; failed ones stay 3 times that")
    parser.add_argument("--dry-run", action="store_true", help="only say how many")
    if {"-h", "--help"} & set(args):
        session.out.text(parser.format_help())
        return 0
    given = parser.parse_args(args)
    older_than = age(given.older_than)
    if older_than < SHORTEST:
        raise BadInputError(
            "Records of the last hour cannot be deleted, because running processes may need them: use 1h or more."
        )
    cleaned = cleanup_processes(older_than, dry_run=given.dry_run)
    record = {
        "type": "Cleanup",
        "succeeded": cleaned.succeeded,
        "failed": cleaned.failed,
        "older_than_seconds": older_than.total_seconds(),
        "dry_run": given.dry_run,
    }
    verb = "would be deleted" if given.dry_run else "deleted"
    number = cleaned.succeeded + cleaned.failed
    session.out.event(record, f"{counted(number, 'record')} {verb} ({cleaned.failed:,} of failed processes, "
                              f"which stay {FAILED_STAY} times as long).")  # fmt: skip
    return 0
