"""Owns reading which migrations the database has had."""

from archivebox.config.database import database_url
from archivebox.config.origin import Origin, origin_of
from archivebox.storage.layout import DataFolder

_OF_DJANGO = frozenset({"admin", "auth", "contenttypes", "sessions"})
"""Apps that bring their own migrations; a newer Django alone is no newer version of ours."""


def applied_migrations(folder: DataFolder) -> list[str]:
    """``app.name`` of each of ours, in the order in which they were applied.

    Only reads. Nothing where there is no database yet, or where its server does not answer: who needs it says so.
    """
    from django.db import DatabaseError, connection  # what asks for its settings

    if not database_url(folder) and origin_of(folder.database) is Origin.NOBODYS:
        return []
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT app, name FROM django_migrations ORDER BY id")
            return [f"{app}.{name}" for app, name in cursor.fetchall() if app not in _OF_DJANGO]
    except DatabaseError:
        return []
