"""Owns the rows of objects in the object store: which there are, and which page needs them.

An object's row is there before its upload begins, and goes after the object: nothing in the store is unknown. No key is
used twice.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, Self, cast
from uuid import UUID

from django.db import models
from django.db.models import Q

from archivebox.base_models.rows import Row
from archivebox.base_models.work import lease_clock

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

    def bodies(self) -> Self:
        """Those that pages may share."""
        return self.exclude(name="")

    def unused_for(self, grace: timedelta) -> Self:
        """Those that nothing has needed for so long."""
        return self.filter(unused_at__lt=lease_clock() - grace)


class StoredObject(Row):
    """One object in the store: the files of a page, or a body that several pages of one owner share."""

    key = models.CharField(max_length=400, unique=True)
    size = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, default="", help_text="of all its bytes")
    snapshot = models.UUIDField(null=True, help_text="the page whose files it has; null: a shared body")
    owner = models.CharField(max_length=255, default="", help_text="of a shared body: the folder of its owner")
    name = models.CharField(max_length=128, default="", help_text="of a shared body: its file's name in each page")
    bodies = models.ManyToManyField("self", symmetrical=False, related_name="pages")
    machine = models.UUIDField(null=True, help_text="which has uploaded it, or does")
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
            models.Index(fields=["owner", "sha256"], condition=~Q(owner=""), name="stored_object_body"),
            models.Index(fields=["unused_at"], condition=_UNUSED, name="stored_object_unused"),
            models.Index(fields=["id"], condition=_UPLOADING, name="stored_object_uploading"),
        ]

    def __str__(self) -> str:
        return self.key


@dataclass(frozen=True, slots=True)
class PageObjects:
    """The objects that have the files of a page."""

    page: StoredObject
    bodies: list[StoredObject]

    @property
    def snapshot(self) -> UUID:
        """The page."""
        return cast("UUID", self.page.snapshot)


def page_objects(page: StoredObject) -> PageObjects:
    """With its bodies, as rows name them."""
    return PageObjects(page, list(page.bodies.all()))


def current_object(snapshot: UUID) -> "StoredObject | None":
    """The object that has the files of a page; None for a page that was never stored."""
    return StoredObject.objects.current().filter(snapshot=snapshot).first()
