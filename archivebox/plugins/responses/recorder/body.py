"""The body of one answer while it arrives: in memory or, where it is large, in a file without a name."""

from __future__ import annotations

import hashlib
import tempfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

IN_MEMORY = 1 << 20  # bytes


class RecordedBody:
    """Takes bytes up to a limit; `cut` says that there were more."""

    __slots__ = ("_hash", "cut", "file", "limit", "size")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.clear()

    def clear(self) -> None:
        """Forget all of it."""
        self.file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY, dir=".")  # noqa: SIM115  (lives as long as we)
        self._hash = hashlib.sha256()
        self.size, self.cut = 0, False

    def write(self, data: bytes) -> None:
        room = self.limit - self.size
        if len(data) > room:
            self.cut, data = True, data[:room]
        self.file.write(data)
        self._hash.update(data)
        self.size += len(data)

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()
