"""A pool whose pages ahead are begun for certain, however fast the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from archivebox.config.settings import DATA_FOLDER
from archivebox.imports.page import do_nothing
from archivebox.imports.transfer import Transfer
from archivebox.imports.writing_pool import WritingPool


class HeldPool(WritingPool):
    """Its sync takes until a file is there. It never asks singly."""

    asks_singly = False

    def __init__(self, until: Path, stop: Callable[[], None] = do_nothing, transfer: Transfer = Transfer.COPY) -> None:
        super().__init__(DATA_FOLDER.keys, transfer, stop, has_processes=True)
        self._until = until

    def sync(self, folder: Path) -> Future[None]:
        del folder
        return self._syncing.submit(self._wait)

    def _wait(self) -> None:
        while not self._until.exists():
            self.stop()
            time.sleep(0.01)
