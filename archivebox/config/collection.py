"""Which data folder is meant, and making it ready for use: folders, write-ahead log, migrations."""

import hashlib
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from archivebox.config.database import database_url, encoding_problem, is_read_only
from archivebox.config.database_copy import DatabaseCopyError, sqlite_damage
from archivebox.config.migration_backup import back_up_before_migrations
from archivebox.config.origin import APPLICATION_ID, Origin, origin_of
from archivebox.config.privacy import keep_private
from archivebox.config.shared_secrets import SharedSecretError, has_shared_secrets, share_secrets
from archivebox.lib.files import atomic_write, locked
from archivebox.storage.layout import DataFolder

OLDER_FOLDERS = frozenset({"archive", "crawls", "logs", "personas", "sources", "users"})
"""What older versions keep beside their database."""

_OF_EVERY_RELEASE = "replay.0001_initial"
"""A migration that every release has, and that no state of the repository before the first one had by this name."""

_OF_DJANGO = frozenset({"admin", "auth", "contenttypes", "sessions"})
"""Apps that bring their own migrations; a newer Django alone is no newer version of ours."""

MOVE_NOTES = "archivebox_move"
"""Table of a database into which a collection is being moved, while that is not finished."""


class CollectionError(Exception):
    """A data folder that cannot be used as things are; the message says what to do."""


def choose_data_dir(option: str | None = None) -> Path:
    """``--data-dir``, else ``DATA_DIR``, else the current folder if an ArchiveBox made it, else ``./data``.

    Inside of a folder of an older ArchiveBox it is that one, which is then refused by name. Sets ``DATA_DIR``; call it
    before anything of Django is imported.
    """
    folder = Path(option or os.environ.get("DATA_DIR") or _folder_around()).expanduser().resolve()
    os.environ["DATA_DIR"] = str(folder)
    return folder


def _folder_around() -> Path:
    here = Path.cwd()
    return (here if is_collection(DataFolder(here)) else _older_archive_around(here)) or here / "data"


def _older_archive_around(place: Path) -> Path | None:
    """The folder of an older ArchiveBox that this is, or is one of the folders of."""
    for folder in (place, *place.parents):
        is_part = folder == place or place.relative_to(folder).parts[0] in OLDER_FOLDERS
        if is_part and origin_of(DataFolder(folder).database).is_older:
            return folder
    return None


def is_collection(folder: DataFolder) -> bool:
    """Whether a collection of ours is there; a copy without ``run/``, or one that lost its database, is one too."""
    return folder.run.is_dir() or origin_of(folder.database) is Origin.OURS or has_lost_database(folder)


def has_lost_database(folder: DataFolder) -> bool:
    """Whether there are pages, or other traces of a database of ours, and no SQLite file that has tables.

    That is looked for again at the end: another process may have made it, and traces of it, meanwhile.
    """
    if not _has_no_tables(folder):
        return False
    traces = (_pages(folder), folder.run.glob("schema.*"), folder.root.glob("search.sqlite3"))
    return any(map(any, traces)) and _has_no_tables(folder)


def _pages(folder: DataFolder) -> Iterator[Path]:
    return folder.users.glob("*/snapshots/*/*/*")


def _has_no_tables(folder: DataFolder) -> bool:
    return origin_of(folder.database) is Origin.NOBODYS and not database_url(folder)


def require_collection(folder: DataFolder) -> None:
    """CollectionError where none is."""
    if not is_collection(folder):
        raise CollectionError(
            f"There is no collection in {folder.root}. `archivebox init` makes one there; "
            "--data-dir or DATA_DIR names another folder."
        )


def refuse_others(folder: DataFolder) -> None:
    """CollectionError for a folder that an older ArchiveBox or another program works with, or that is half restored.

    It stays as it is. Tables of older ones would be taken for ours: the apps have the same names, and ``0001_initial``
    counts as applied.
    """
    if folder.restore_mark.exists():
        raise CollectionError(
            f"A backup is being restored into {folder.root}, or that was interrupted. Repeat the `archivebox restore` "
            "command: it continues. Or delete the folder."
        )
    origin = origin_of(folder.database)
    if origin.is_older:
        raise CollectionError(
            f"{folder.root} contains an archive of {origin.value}. This version cannot open it and did not change "
            f"it. `archivebox --data-dir FOLDER init` creates a new collection in another folder, and "
            f"`archivebox --data-dir FOLDER import {folder.root}` imports this one into it."
        )
    if origin is Origin.FOREIGN:
        raise CollectionError(
            f"{folder.database} belongs to another program, and was left as it is. --data-dir or DATA_DIR names "
            "another folder."
        )


def refuse_lost_database(folder: DataFolder) -> None:
    """CollectionError where the database is lost: a new one would know none of the pages."""
    if database_url(folder):
        if not _server_has("core_snapshot", unanswered=True) and any(_pages(folder)):
            raise CollectionError(
                f"{folder.root} has pages, and the database of DATABASE_URL has no tables. Nothing was changed. "
                "Restore its backup (docs/backup.md), or correct DATABASE_URL. `archivebox init --force` begins anew, "
                "without the pages that are there."
            )
    elif has_lost_database(folder):
        raise CollectionError(
            f"{folder.root} has a collection without its database: {folder.database} is missing or empty. Nothing was "
            f"changed. `archivebox --data-dir NEW restore BACKUP` restores a backup into a new folder, and copies of "
            f"the database may be in {folder.backups}. If it is in PostgreSQL, set DATABASE_URL. "
            "`archivebox init --force` begins anew, without the pages that are there."
        )


def refuse_other_schemas(folder: DataFolder) -> None:
    """CollectionError where another version has made or changed the database, and not this one; it stays as it is."""
    if problem := schema_problem(folder):
        raise CollectionError(problem)


def schema_problem(folder: DataFolder) -> str:
    """That a newer version has changed the database, or one from before 0.1.0 made it, and what to do; or nothing."""
    applied = applied_migrations(folder)
    if applied and _OF_EVERY_RELEASE not in applied:
        return (
            f"The database of {folder.root} was made by a development version from before ArchiveBox 0.1.0. No release "
            "can open it, and nothing was changed there. `archivebox --data-dir FOLDER init` creates a new collection "
            "in another folder."
        )
    unknown = [name for name in applied if name not in _own_migrations()]
    if not unknown:
        return ""
    if database_url(folder):
        return (
            f"A newer version of ArchiveBox on another machine has changed the database ({unknown[-1]}). Upgrade this "
            "machine to that version; docs/fleet.md says how several machines are upgraded."
        )
    return (
        f"{folder.root} was last used by a newer version of ArchiveBox, which has changed its database "
        f"({unknown[-1]}). This version cannot open it, and has changed nothing there: install the newer version "
        f"again, or restore the backup from before the upgrade (in {folder.backups}; docs/backup.md)."
    )


def refuse_to_serve_damaged(folder: DataFolder) -> None:
    """CollectionError for a damaged database in which pages need other tables: their server would fail again and again.

    One that has them is served as far as it can be read.
    """
    stamp = folder.run / "schema.archivebox.web.settings"
    if database_url(folder) or (stamp.exists() and stamp.read_text() == schema_of(folder)):
        return
    if damage := sqlite_damage(folder.database):
        raise CollectionError(
            f"{folder.database} is damaged ({damage}), and was left as it is. Restore a backup into a new folder "
            "(`archivebox --data-dir NEW restore BACKUP`), or copy the folder, then: sqlite3 index.sqlite3 .recover"
        )


def applied_migrations(folder: DataFolder) -> list[str]:
    """``app.name`` of each of ours, in the order in which they were applied.

    Only reads. Nothing where there is no database yet, or where its server does not answer: who needs it says so.
    """
    from django.db import DatabaseError, connection  # what asks for its settings

    if _has_no_tables(folder):
        return []
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT app, name FROM django_migrations ORDER BY id")
            return [f"{app}.{name}" for app, name in cursor.fetchall() if app not in _OF_DJANGO]
    except DatabaseError:
        return []


def refuse_other_encodings(folder: DataFolder) -> None:
    """CollectionError where the database cannot store all text: workers would fail at each page that has some."""
    from django.db import connection  # what asks for its settings

    if not database_url(folder):
        return
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_encoding")
        if problem := encoding_problem(cursor.fetchone()[0]):
            raise CollectionError(problem)


def refuse_unwritable(folder: DataFolder) -> None:
    """CollectionError where this user may not write, or the disk is read-only: commands leave a row and a log.

    Those that list, search and export do without where they must.
    """
    for path in (folder.root, folder.run, folder.logs, folder.logs / "cli.log", folder.database):
        if os.path.exists(path) and not os.access(path, os.W_OK):  # noqa: PTH110 - False, too, for what is out of reach
            raise CollectionError(
                f"{path} cannot be written to. Run ArchiveBox as its owner, on a disk that is not mounted read-only."
            )


def refuse_unfinished_move(folder: DataFolder) -> None:
    """CollectionError where rows are still being moved into the database: what is written there now would be lost."""
    if database_url(folder) and _server_has(MOVE_NOTES, unanswered=False):
        raise CollectionError(
            "A collection is being moved into the database of DATABASE_URL, or that was interrupted. Repeat the "
            "`archivebox manage move_database` command with the former database: it continues."
        )


def open_collection(*, create: bool, is_move: bool = False, begin_anew: bool = False, reading: bool = False) -> None:
    """Make the collection of ``DATA_DIR`` ready; cheap when nothing is to be done. Needs Django set up.

    Where it can only be read and nothing else is asked (``reading``), it stays as it is.

    CollectionError when there is none and ``create`` is not set, or when it is not ours, or, but for the move itself
    (``is_move``), when rows are still being moved there, or, unless it is to ``begin_anew``, when its database is lost.
    """
    folder = DataFolder(Path(os.environ["DATA_DIR"]))
    refuse_others(folder)
    if not is_move:
        refuse_unfinished_move(folder)
    if not begin_anew:
        refuse_lost_database(folder)
    elif has_lost_database(folder):
        for former in folder.run.glob("schema.*"):
            former.unlink()  # or a kill before there are tables again would leave a folder that counts as ready
    if not create:
        require_collection(folder)
    refuse_other_schemas(folder)
    if reading and is_read_only(folder):
        if missing := _own_migrations().difference(applied_migrations(folder)):
            raise CollectionError(
                f"{folder.root} was last used by an older version of ArchiveBox ({min(missing)} is missing). Read it "
                "with that version, or copy it to a disk that can be written to, where it is upgraded."
            )
        return
    refuse_unwritable(folder)
    keep_private(folder)  # before anything is made
    stamp = schema_of(folder)
    if _is_ready(folder, stamp):
        return
    folder.create()
    # The switch to WAL and migrations are not covered by SQLite's busy timeout: 12 of 320 first uses were "locked".
    with locked(folder.init_lock):
        if not _is_ready(folder, stamp):
            with _other_versions_kept_away(folder, stamp):
                with _one_machine_at_a_time(folder):
                    refuse_other_encodings(folder)
                    _migrate(folder)
                    _share_secrets(folder)
                atomic_write(_stamp_file(folder), stamp)


@contextmanager
def _other_versions_kept_away(folder: DataFolder, stamp: str) -> Iterator[None]:
    """No orchestrator begins meanwhile; one that is at work knows our schema, or CollectionError."""
    with locked(folder.orchestrator_lock, blocking=False) as lock:
        if lock is None and not _is_signed(folder.orchestrator_lock, stamp):
            raise CollectionError(
                f"Another version of ArchiveBox is at work on {folder.root}, and this one would change its database. "
                "End its `server`, `run` or `add` first."
            )
        yield


def _is_signed(lock: Path, stamp: str) -> bool:
    """Whether its holder wrote our schema into it; asked twice, as locking and writing are two steps."""
    if lock.read_text() == stamp:
        return True
    time.sleep(0.1)
    return lock.read_text() == stamp


def _stamp_file(folder: DataFolder) -> Path:
    """One for commands and one for pages, which have more tables."""
    return folder.run / f"schema.{os.environ.get('DJANGO_SETTINGS_MODULE', 'none')}"


def _is_ready(folder: DataFolder, stamp: str) -> bool:
    """Migrated by this version, and the database that was migrated is still there."""
    try:
        if _stamp_file(folder).read_text() != stamp:
            return False
    except FileNotFoundError:
        return False
    if database_url(folder):
        return has_shared_secrets(folder) and _server_has("django_migrations", unanswered=True)
    return origin_of(folder.database) is not Origin.NOBODYS


def _server_has(table: str, *, unanswered: bool) -> bool:
    """Whether a table is there: the database that was migrated may have been dropped and made anew.

    ``unanswered``: what one that does not answer is taken for; whoever needs it says so.
    """
    from django.db import OperationalError, connection  # what asks for its settings

    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [table])
            return bool(cursor.fetchone()[0])
    except OperationalError:
        return unanswered


def _migrate(folder: DataFolder) -> None:
    from django.core.management import call_command  # what `status` on a ready collection need not import
    from django.db import connection, transaction  # likewise

    if not database_url(folder):
        connection.close()  # while one is open, what is written here stays in the write-ahead log
        folder.database.touch(0o600)
        with closing(sqlite3.connect(folder.database, timeout=30)) as database:
            database.execute("PRAGMA auto_vacuum=INCREMENTAL")  # before the first page is written
            database.execute(f"PRAGMA application_id={APPLICATION_ID}")  # before WAL: into the file itself
            database.execute("PRAGMA journal_mode=WAL")
    try:
        back_up_before_migrations(folder)
    except DatabaseCopyError as problem:
        raise CollectionError(str(problem)) from problem
    # All of it or nothing, so that a kill leaves no table without the record of its migration, which no version could
    # open. SQLite switches foreign keys off outside of transactions alone.
    with connection.constraint_checks_disabled(), transaction.atomic():
        call_command("migrate", verbosity=0, interactive=False)


@contextmanager
def _one_machine_at_a_time(folder: DataFolder) -> Iterator[None]:
    """Of machines that share a database, only one migrates it; the next finds nothing left to do."""
    from django.db import connection  # what asks for its settings

    if not database_url(folder):
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [APPLICATION_ID])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [APPLICATION_ID])


def _share_secrets(folder: DataFolder) -> None:
    from django.db import connection  # what asks for its settings

    if not database_url(folder):
        return
    try:
        with connection.cursor() as cursor:
            share_secrets(folder, cursor)
    except SharedSecretError as problem:
        raise CollectionError(str(problem)) from problem


def schema_of(folder: DataFolder) -> str:
    """Names every migration that this version has, the mark, and the database they are meant for."""
    names = sorted(_own_migrations())
    names.append(f"application_id {APPLICATION_ID:#x}")
    names.append(hashlib.sha256(database_url(folder).encode()).hexdigest())
    return "\n".join(names) + "\n"


@cache
def _own_migrations() -> frozenset[str]:
    package = Path(__file__).parent.parent
    return frozenset(f"{path.parts[-3]}.{path.stem}" for path in package.glob("*/migrations/[0-9]*.py"))
