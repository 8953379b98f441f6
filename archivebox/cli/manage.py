"""Owns `archivebox manage`: looking after the collection, and Django's own commands."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import NoReturn
from urllib.parse import urlsplit

from django.core.management import ManagementUtility

from archivebox.backup.database_move import SQLITE, MoveError, MoveProgress, move_database
from archivebox.cli.conditions import age
from archivebox.cli.errors import BadInputError
from archivebox.cli.output import counted
from archivebox.cli.selection import snapshots
from archivebox.cli.session import Session
from archivebox.config.conffile import ConfError, read_conf, write_conf
from archivebox.core.crawl_control.process_retention import FAILED_STAY, cleanup_processes
from archivebox.machine.fleet_setting import fleet_settings
from archivebox.machine.machine_id import is_fleet, machine_id
from archivebox.search.backend import ReindexProgress, SearchUnavailableError, chosen_backend, rebuild, reindex


class Parser(argparse.ArgumentParser):
    """Wrong options are one sentence, as everywhere."""

    def __init__(self, action: str, description: str) -> None:
        super().__init__(f"archivebox manage {action}", description=description, exit_on_error=False)

    def error(self, message: str) -> NoReturn:
        raise BadInputError(f"{message[:1].upper()}{message[1:]}. {self.format_usage().strip().capitalize()}")


REINDEX_TEXT = (
    "Rebuild the search index from the files of all snapshots. If it is interrupted, repeat the command: it continues."
)


def _reindex(session: Session, args: tuple[str, ...]) -> int:
    parser = Parser("reindex", REINDEX_TEXT)
    parser.add_argument("--only", nargs="+", default=[], metavar="URL|ID", help="only these snapshots")
    if {"-h", "--help"} & set(args):
        session.out.text(parser.format_help())
        return 0
    only = tuple(parser.parse_args(args).only)
    try:
        return _index_anew(session, only)
    except SearchUnavailableError as problem:
        raise BadInputError(str(problem)) from None


def _index_anew(session: Session, only: tuple[str, ...]) -> int:
    backend = chosen_backend()
    if backend is None:
        raise BadInputError("No search engine is chosen: set SEARCH_BACKEND_ENGINE, such as to auto.")
    steps = reindex(backend, snapshots(which=only)) if only else rebuild(backend)
    last = _show_reindex(session, steps)
    sentence = f"{counted(last.done, 'snapshot')} indexed, {counted(last.texts, 'text')}."
    session.out.event(
        {"type": "Reindex", "snapshots": last.done, "texts": last.texts, "engine": backend.engine}, sentence
    )
    return 0


def _show_reindex(session: Session, steps: Iterator[ReindexProgress]) -> ReindexProgress:
    last = ReindexProgress(0)
    with session.out.live() as draw:
        for last in steps:
            draw([f"{last.done:,} of {counted(last.total, 'snapshot')}"])
    return last


MOVE_TEXT = (
    "Copy all rows to another database, and compare them there. If it is interrupted, repeat the command: it "
    "continues. The present database is not changed, and is used until DATABASE_URL is changed."
)
THEN_REINDEX = "then `archivebox manage reindex` makes the search index there."


def _refuse_passwords(args: Sequence[str]) -> None:
    """BadInputError for a URL with a password, before anything records the command line."""
    for arg in args:
        if "://" in arg and "@" in arg and ":" in urlsplit(arg.removeprefix("--to=")).netloc.rpartition("@")[0]:
            raise BadInputError(
                "Everybody on this machine can read a password in a command line: type --to=- and give the URL on "
                "standard input, such as from a file."
            )


def _move_database(session: Session, args: tuple[str, ...]) -> int:
    parser = Parser("move_database", MOVE_TEXT)
    parser.add_argument(
        "--to", required=True, metavar="URL", help="postgres://…, an empty database; sqlite; -: read from stdin"
    )
    if {"-h", "--help"} & set(args):
        session.out.text(parser.format_help())
        return 0
    to = str(parser.parse_args(args).to)
    url = sys.stdin.readline().strip() if to == "-" else to
    try:
        last = _show_move(session, url)
    except (MoveError, ConfError) as problem:
        raise BadInputError(str(problem)) from None
    for name, table in last.compared.items():
        session.out.event(
            {"type": "MovedTable", "table": name, "rows": table.rows, "digest": table.digest},
            f"{name}: {counted(table.rows, 'row')}, {table.digest[:16]}",
        )
    if to == SQLITE:
        _keep_settings(session)
    rows = sum(table.rows for table in last.compared.values())
    session.out.event(
        {"type": "MovedDatabase", "tables": len(last.compared), "rows": rows, "written": last.written},
        f"{counted(len(last.compared), 'table')} with {counted(rows, 'row')} are in both databases. "
        f"{_next_step(url)}, {THEN_REINDEX}",
    )
    return 0


def _keep_settings(session: Session) -> None:
    """What all machines shared, into ArchiveBox.conf: with SQLite rows of settings are not read."""
    if is_fleet():
        here = read_conf(session.folder.conf)
        write_conf(session.folder.conf, {name: text for name, text in fleet_settings().items() if name not in here})


def _next_step(url: str) -> str:
    if url == SQLITE:
        return "Remove DATABASE_URL from ArchiveBox.conf and the environment"
    machine = "" if is_fleet() else f" and MACHINE_ID={machine_id()}, under which it knows this machine"
    return f"Set DATABASE_URL to the new database{machine}, in ArchiveBox.conf or the environment"


def _show_move(session: Session, url: str) -> MoveProgress:
    last = MoveProgress()
    with session.out.live() as draw:
        for last in move_database(url, session.folder):
            draw([f"{last.table}: {counted(last.written, 'row')} written, {len(last.compared)} tables compared"])
    return last


SHORTEST = timedelta(hours=1)


def refuse_early(params: Mapping[str, object]) -> None:
    """A password in a URL on the command line."""
    args = params.get("args")
    if params.get("action") == "move_database" and isinstance(args, tuple):
        _refuse_passwords(args)


def run(session: Session, *, action: str, args: tuple[str, ...]) -> int:
    if action == "cleanup_processes":
        return _cleanup_processes(session, args)
    if action == "reindex":
        return _reindex(session, args)
    if action == "move_database":
        return _move_database(session, args)
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
