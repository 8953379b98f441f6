"""Owns when stored bodies that no page has are deleted: once a day on each machine, a folder at a time."""

import logging
from collections.abc import Iterator
from pathlib import Path

from archivebox.config.settings import DATA_FOLDER
from archivebox.machine.host import Machine
from archivebox.machine.periodic import DAILY, periodic_task
from archivebox.storage.sharing_upkeep import StorageReport, collect_folder, store_folders

log = logging.getLogger(__name__)


class StorageUpkeep:
    """The folders that a worker has still to look through today. What a killed one has left is for tomorrow."""

    def __init__(self) -> None:
        self._folders: Iterator[Path] = iter(())

    def begin_if_due(self) -> None:
        """Called again and again, on the database thread."""
        with periodic_task(f"storage_gc:{Machine.current().pk}", DAILY) as is_due:
            if is_due:
                self._folders = store_folders(DATA_FOLDER.users)

    def look_through_next(self) -> None:
        """Delete what is unused in one folder, on any thread. What cannot be deleted stays: it ends no worker."""
        report = StorageReport()
        try:
            for folder in self._folders:
                collect_folder(folder, report)
                break
        except OSError as error:
            log.warning("Stored bodies were not looked through: %s action=storage_gc_failed", error)
        if report.files:
            log.info("Deleted unused bodies action=storage_gc files=%d bytes=%d", report.files, report.bytes)
