"""Django's engines, but that clearing up after a test that commits takes a tenth of the time."""

from __future__ import annotations

from collections.abc import Sequence

SAME_IN_ALL = frozenset({"django_content_type", "auth_permission"})
"""Tables that Django fills for all models after each migration, and after each emptying, which takes 0.2 s of CPU."""


def to_empty(tables: Sequence[str]) -> list[str]:
    return [table for table in tables if table not in SAME_IN_ALL]
