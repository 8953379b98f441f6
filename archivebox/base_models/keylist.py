"""Owns long lists of keys as one parameter of a statement: of single ones SQLite takes 32,766 to 250,000."""

import json
from collections.abc import Iterable
from uuid import UUID

from django.db import connection
from django.db.models.expressions import RawSQL


def key_list(keys: Iterable[UUID | str]) -> RawSQL:
    """For ``pk__in``; keys may be as the driver gives them."""
    if connection.vendor == "sqlite":
        return RawSQL(
            "SELECT value FROM json_each(%s)", [json.dumps([key if isinstance(key, str) else key.hex for key in keys])]
        )
    return RawSQL("SELECT unnest(%s::uuid[])", [list(keys)])
