"""Owns making an empty folder the data folder of a collection that other machines have begun, in the same database."""

from archivebox.config.collection import CollectionError, is_collection
from archivebox.config.database import database_url
from archivebox.config.database_copy import DatabaseCopyError
from archivebox.config.privacy import keep_private
from archivebox.config.shared_secrets import SharedSecretError, SqlCursor, share_secrets
from archivebox.storage.layout import DataFolder

_MAY_BE_THERE = frozenset({"ArchiveBox.conf", "lost+found", "personas", "plugins", "users"})
"""What people put, or mount, into a data folder before its first use."""


def join(folder: DataFolder) -> None:
    """Make ``folder`` a data folder if it is empty, and the database of DATABASE_URL already holds a collection.

    Done before Django is set up, whose settings for pages need the keys. CollectionError where the database does not
    answer, or its keys cannot be read.
    """
    if is_collection(folder) or not _is_empty(folder):
        return
    url = database_url(folder)
    if not url:
        return
    from archivebox.config.postgres_copy import opened_cursor  # 30 ms, which other commands need not pay

    try:
        with opened_cursor(url) as cursor:
            if _holds_collection(cursor):
                keep_private(folder)
                share_secrets(folder, cursor)
                folder.create()
    except (DatabaseCopyError, SharedSecretError) as error:
        raise CollectionError(str(error)) from error


def _is_empty(folder: DataFolder) -> bool:
    return not folder.root.exists() or all(path.name in _MAY_BE_THERE for path in folder.root.iterdir())


def _holds_collection(cursor: SqlCursor) -> bool:
    """Whether migrations of ours have been applied there."""
    cursor.execute("SELECT to_regclass('django_migrations') IS NOT NULL AND to_regclass('core_snapshot') IS NOT NULL")
    return bool(cursor.fetchall()[0][0])
