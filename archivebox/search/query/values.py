"""Owns which values a column of all Snapshots has, without reading the rows between them."""

from collections.abc import Iterator

from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.core.snapshot import Snapshot


def distinct_values(column: str, beginning: str, scope: ViewerScope) -> Iterator[str]:
    """The values that begin so of what is seen, in order; one look into the column's index for each."""
    names = seen_by(scope, Snapshot.objects.kept()).order_by(column).values_list(column, flat=True)
    found = names.filter(**{f"{column}__gte": beginning}).first()
    while found is not None and found.startswith(beginning):
        yield found
        found = names.filter(**{f"{column}__gt": found}).first()
