"""Owns long lists of keys as one parameter of a statement: of single ones SQLite takes 32,766 to 250,000."""

import json
from collections.abc import Iterable
from uuid import UUID

from django.db import connection
from django.db.models.expressions import RawSQL


def key_list(keys: Iterable[UUID]) -> RawSQL:
    """For ``pk__in``."""
    if connection.vendor == "sqlite":
        return RawSQL("SELECT value FROM json_each(%s)", [json.dumps([key.hex for key in keys])])
    return RawSQL("SELECT unnest(%s::uuid[])", [list(keys)])
