"""Owns the rows of objects in the object store: which there are, and which page needs them.

An object's row is there before its upload begins, and goes after the object: nothing in the store is unknown. No key is
used twice.
"""

from datetime import timedelta
from typing import ClassVar, Self, cast
from uuid import UUID

from django.db import models
from django.db.models import Q

from archivebox.base_models.rows import Row
from archivebox.base_models.work import lease_clock

COLLECTION = "collection/"
"""How the key of the one object begins that says whose store it is."""
PAGES = "pages/"
"""How the keys of pages begin."""
_CURRENT = Q(snapshot__isnull=False, stored_at__isnull=False, unused_at__isnull=True)
_UNUSED = Q(unused_at__isnull=False)
_UPLOADING = Q(stored_at__isnull=True)


class StoredObjectQuerySet(models.QuerySet["StoredObject"]):
    """Objects, in the words in which they are asked for."""

    def current(self) -> Self:
        """Those that have the files of a page."""
        return self.filter(_CURRENT)

    def uploading(self) -> Self:
        """Those that may not be whole in the store."""
        return self.filter(_UPLOADING)

    def unused_for(self, grace: timedelta) -> Self:
        """Those that nothing has needed for so long."""
        return self.filter(unused_at__lt=lease_clock() - grace)


class StoredObject(Row):
    """One object in the store: all files of a page."""

    key = models.CharField(max_length=400, unique=True)
    size = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, default="", help_text="of all its bytes")
    directory = models.CharField(max_length=64, default="", help_text="SHA-256 of its list of files and their hashes")
    snapshot = models.UUIDField(null=True, help_text="the page whose files it has; null: it says whose store it is")
    machine = models.UUIDField(null=True, help_text="which has uploaded it, or does")
    # Empty since uploads start again; it stays, because collections have the column.
    upload = models.CharField(max_length=400, default="", help_text="the store's id of an upload that can be resumed")
    stored_at = models.DateTimeField(null=True, help_text="null: it is being uploaded, or that was cut short")
    unused_at = models.DateTimeField(null=True, help_text="since when nothing needs it; it is deleted after a grace")
    is_deleted = models.BooleanField(default=False, help_text="its deletion from the store has begun")

    objects: ClassVar[models.Manager["StoredObject"]] = StoredObjectQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["snapshot"], condition=_CURRENT, name="stored_object_of_page"),
        ]
        indexes = [
            models.Index(fields=["snapshot"], condition=Q(snapshot__isnull=False), name="stored_object_snapshot"),
            models.Index(fields=["unused_at"], condition=_UNUSED, name="stored_object_unused"),
            models.Index(fields=["id"], condition=_UPLOADING, name="stored_object_uploading"),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def is_in_use(self) -> bool:
        return self.stored_at is not None and self.unused_at is None and not self.is_deleted

    @property
    def page(self) -> UUID:
        """Of the object of a page: which."""
        return cast("UUID", self.snapshot)


def current_object(snapshot: UUID) -> "StoredObject | None":
    """The object that has the files of a page; None for a page that was never stored."""
    return StoredObject.objects.current().filter(snapshot=snapshot).first()
