"""What every row has: a key in the order of time, and the moment it last changed."""

from datetime import UTC, datetime
from uuid import UUID

import uuid_utils.compat
from django.db import models


def new_id() -> UUID:
    """A UUIDv7 (RFC 9562, section 5.7), monotonic within a millisecond."""
    return uuid_utils.compat.uuid7()


def time_of(key: UUID) -> datetime:
    """The moment in a UUIDv7's first 48 bits, in UTC, to the millisecond."""
    return datetime.fromtimestamp((key.int >> 80) / 1000, tz=UTC)


def first_id(moment: datetime) -> UUID:
    """What every key made at ``moment`` or later is not below, and every earlier one is."""
    return UUID(int=int(moment.timestamp() * 1000) << 80)


class Row(models.Model):
    """A row with a UUIDv7 key: newest first is ``ORDER BY id DESC``, and long lists page by key."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    modified_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    @property
    def created_at(self) -> datetime:
        return time_of(self.pk)
