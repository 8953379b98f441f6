"""Owns `archivebox manage move_database`: the rows of a collection in another database."""

import sys
from collections.abc import Sequence
from urllib.parse import urlsplit

from archivebox.backup.database_move import SQLITE, MoveError, MoveProgress, move_database
from archivebox.cli.errors import BadInputError
from archivebox.cli.manage.parser import Parser
from archivebox.cli.output import counted
from archivebox.cli.session import Session
from archivebox.config.conffile import ConfError, read_conf, write_conf
from archivebox.machine.fleet_setting import fleet_settings
from archivebox.machine.machine_id import is_fleet, machine_id

TEXT = (
    "Copy all rows to another database, and compare them there. If it is interrupted, repeat the command: it "
    "continues. The present database is not changed, and is used until DATABASE_URL is changed."
)
REINDEX = "then `archivebox manage reindex` makes the search index there."


def refuse_passwords(args: Sequence[str]) -> None:
    """BadInputError for a URL with a password, before anything records the command line."""
    for arg in args:
        if "://" in arg and "@" in arg and ":" in urlsplit(arg.removeprefix("--to=")).netloc.rpartition("@")[0]:
            raise BadInputError(
                "Everybody on this machine can read a password in a command line: type --to=- and give the URL on "
                "standard input, such as from a file."
            )


def run(session: Session, args: tuple[str, ...]) -> int:
    parser = Parser("move_database", TEXT)
    parser.add_argument(
        "--to", required=True, metavar="URL", help="postgres://…, an empty database; sqlite; -: read from stdin"
    )
    if {"-h", "--help"} & set(args):
        session.out.text(parser.format_help())
        return 0
    to = str(parser.parse_args(args).to)
    url = sys.stdin.readline().strip() if to == "-" else to
    try:
        last = _show(session, url)
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
        f"{_next_step(url)}, {REINDEX}",
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


def _show(session: Session, url: str) -> MoveProgress:
    last = MoveProgress()
    with session.out.live() as draw:
        for last in move_database(url, session.folder):
            draw([f"{last.table}: {counted(last.written, 'row')} written, {len(last.compared)} tables compared"])
    return last
