"""Owns how a folder is told from its copies."""

from pathlib import Path
from typing import NamedTuple, Self

from archivebox.lib.processes import ProcessIdentity


class FolderIdentity(NamedTuple):
    """A folder as the kernel knows it: one that is renamed stays the same one, its copy is another."""

    boot: str = ""
    folder: str = ""

    @classmethod
    def of(cls, folder: Path) -> Self:
        status = folder.stat()
        return cls(ProcessIdentity.current().boot_id, f"{status.st_dev}:{status.st_ino}")
