"""Owns copying a PostgreSQL database by pg_dump, and putting it back by pg_restore."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archivebox.config.database import encoding_problem, postgres_settings
from archivebox.config.database_copy import DatabaseCopyError
from archivebox.lib import processes

if TYPE_CHECKING:
    import psycopg


def dump_postgres(url: str, target: Path) -> None:
    """Write the database that ``url`` names into one file of pg_dump's, as it is at one moment. DatabaseCopyError."""
    program = _program("pg_dump")
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        _run([program, "--format=custom", "--no-owner", "--no-privileges"], url, stdout=descriptor)
        os.fsync(descriptor)
    except BaseException:
        target.unlink()
        raise
    finally:
        os.close(descriptor)


def restore_postgres(url: str, dump: Path) -> None:
    """Put a file of pg_dump's into an empty database: all of it or nothing. DatabaseCopyError."""
    program = _program("pg_restore")
    options = ["--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges"]
    _run([program, *options, str(dump)], url, stdout=subprocess.DEVNULL)


def has_postgres_programs() -> bool:
    """Whether pg_dump and pg_restore are here."""
    return all(shutil.which(name) for name in ("pg_dump", "pg_restore"))


def has_tables(url: str) -> bool:
    """Whether anything is in the database that ``url`` names; DatabaseCopyError where it does not answer."""
    with opened_cursor(url) as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = ANY (current_schemas(false)))")
        return bool(cursor.fetchall()[0][0])


@contextmanager
def opened_cursor(url: str) -> "Iterator[psycopg.Cursor[tuple[Any, ...]]]":
    """A connection of its own to the database that ``url`` names, before Django is set up. DatabaseCopyError."""
    import psycopg  # only who uses PostgreSQL needs it: 60 ms

    try:
        with psycopg.connect(_conninfo(url), password=_password(url)) as connection, connection.cursor() as cursor:
            if problem := encoding_problem(connection.info.parameter_status("server_encoding")):
                raise DatabaseCopyError(problem)
            yield cursor
    except psycopg.Error as error:
        raise DatabaseCopyError(f"The database of DATABASE_URL does not answer: {error}".strip() + ".") from None


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise DatabaseCopyError(
            f"{name} is not there. Install PostgreSQL's client programs, of the server's version or a newer one: "
            "apt-get install postgresql-client"
        )
    return path


def _run(command: Sequence[str], url: str, *, stdout: int) -> None:
    """DatabaseCopyError, with the last line of what the program said, where it fails."""

    def start() -> "subprocess.Popen[bytes]":
        words = [command[0], f"--dbname={_conninfo(url)}", *command[1:]]
        return subprocess.Popen(
            words, env=_environment(url), stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE
        )

    with processes.foreground_child(start) as process:
        try:
            _, said = process.communicate()
        finally:
            process.kill()
    if process.returncode:
        lines = said.decode("utf-8", "replace").strip().splitlines()
        raise DatabaseCopyError(lines[-1] if lines else f"{command[0]} failed.")


def _environment(url: str) -> dict[str, str]:
    """The password goes there: everybody on the machine can read command lines."""
    password = _password(url)
    return {**os.environ, "LC_ALL": "C.UTF-8", **({"PGPASSWORD": password} if password else {})}


def _password(url: str) -> str:
    return str(postgres_settings(url)["PASSWORD"])


def _conninfo(url: str) -> str:
    """The address as libpq wants it, without the password."""
    from psycopg.conninfo import make_conninfo  # only who uses PostgreSQL needs it: 60 ms

    known = postgres_settings(url)
    options = known["OPTIONS"]
    named = {"dbname": known["NAME"], "user": known["USER"], "host": known["HOST"], "port": known["PORT"]}
    more = options if isinstance(options, Mapping) else {}
    return make_conninfo(**{name: str(value) for name, value in {**named, **more}.items() if value})
