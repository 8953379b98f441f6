"""Owns the list of what an import left out: a CSV file in imports/ of the data folder."""

import csv
import os
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from uuid import UUID

from archivebox.config.settings import DATA_FOLDER
from archivebox.imports.page import NotImported
from archivebox.lib.csv_lines import csv_line

HEADING = ("item", "why")


@dataclass(frozen=True, slots=True)
class LeftOutList:
    """What one job did not import, and why."""

    key: UUID

    @property
    def path(self) -> Path:
        return DATA_FOLDER.imports / f"{self.key}.not-imported.csv"

    def append(self, length: int, items: Iterable[NotImported]) -> int:
        """Write ``items`` behind the first ``length`` bytes; what lies there is of a part that was cut short.

        Returns the new length.
        """
        lines = [csv_line(HEADING)] if length == 0 else []
        lines += [csv_line((one.item, one.reason)) for one in items]
        DATA_FOLDER.imports.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.truncate(length)
            file.seek(length)
            file.write("".join(lines).encode("utf-8", "backslashreplace"))
            file.flush()
            os.fsync(descriptor)
            return file.tell()

    def first(self, most: int) -> list[NotImported]:
        if not self.path.is_file():
            return []
        with self.path.open(encoding="utf-8", newline="") as file:
            return [NotImported(row[0], row[1]) for row in islice(csv.reader(file), 1, most + 1)]
