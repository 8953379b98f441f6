"""Owns telling which sealed pages were worked on while a backup was made."""

import time
from uuid import UUID

from archivebox.backup.walking import Walked
from archivebox.base_models.rows import time_of
from archivebox.core.snapshot import Snapshot
from archivebox.storage.layout import USERS
from archivebox.storage.shared_bodies import may_be_linked

_ID = 5
"""Where the id of a page is in ``users/<name>/snapshots/<day>/<site>/<id>/…``."""
_COARSE = 50_000_000
"""Nanoseconds by which the clock of files may be behind."""


class PagesAtStart:
    """Which pages were open when the copy of the database was made, and which files were written since then.

    An open page is archived again after a restore. One that was sealed, and is worked on now, is restored with rows
    that may be older than its files.
    """

    def __init__(self) -> None:
        self._since = time.time_ns() - _COARSE
        is_sealed = Snapshot.StatusChoices.SEALED
        self._open = set(Snapshot.objects.exclude(status=is_sealed).values_list("pk", flat=True))
        self._written: set[str] = set()

    def note(self, walked: Walked) -> None:
        if walked.status.st_ctime_ns < self._since or may_be_linked(walked.path):
            return  # another page's link to a shared body gives its file a new time
        parts = walked.path.split("/", _ID + 1)
        if len(parts) > _ID and parts[0] == USERS and parts[2] == "snapshots":
            self._written.add(parts[_ID])

    def reworked(self) -> list[str]:
        """Ids of the pages that were sealed at the start, and whose files were written since."""
        return sorted(name for name in self._written if self._was_sealed(name))

    def _was_sealed(self, name: str) -> bool:
        try:
            key = UUID(name)
        except ValueError:
            return False
        return key not in self._open and time_of(key).timestamp() * 1e9 < self._since
