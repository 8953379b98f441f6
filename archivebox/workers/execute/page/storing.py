"""Owns one leased page's use of the object store: it is stored before its seal, and fetched before it runs again."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import chain, repeat
from pathlib import Path

from archivebox.contract.reasons import Reason
from archivebox.core.page_storage.folder import fetch_copy
from archivebox.core.page_storage.stored_object import StoredObject
from archivebox.core.page_storage.uploading import PageUpload, begin_upload, send_page
from archivebox.core.snapshot import Snapshot
from archivebox.lib.object_store import ObjectStoreError
from archivebox.storage.page_archive import FolderChangedError
from archivebox.workers.execute.engine import Engine
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.quarantine import is_of_folder

log = logging.getLogger(__name__)

STORE_AGAIN = (2.0, 5.0, 10.0, 20.0, 40.0)
"""Seconds until a store is asked again that did not answer; the last of them from then on."""


class InterruptedStoringError(Exception):
    """The page is to be given back."""


class PageStoring:
    """It waits as long as the store is away, unless it is interrupted."""

    def __init__(self, engine: Engine, snapshot: Snapshot, lease: Lease) -> None:
        self._engine, self._snapshot, self._lease = engine, snapshot, lease
        self._interrupted = asyncio.Event()

    def interrupt(self) -> None:
        """Have what goes on end soon: InterruptedStoringError."""
        self._interrupted.set()

    async def fetch(self, stored: StoredObject) -> None:
        """Fetch the folder of a page that was sealed elsewhere. OSError, InterruptedStoringError."""
        await self._persist(partial(fetch_copy, self._snapshot.path, stored))

    async def store(self, folder: Path) -> PageUpload | None:
        """Upload the files; None where there is no folder. OSError, InterruptedStoringError."""
        if not await self._engine.transfer(folder.is_dir):
            return None
        upload: PageUpload = await self._engine.journal.read(begin_upload, self._snapshot.pk)
        await self._persist(partial(send_page, upload, folder, lambda: not self._interrupted.is_set()))
        return upload

    async def _persist(self, work: Callable[[], None]) -> None:
        for wait in chain(STORE_AGAIN, repeat(STORE_AGAIN[-1])):
            if self._interrupted.is_set():
                raise InterruptedStoringError
            try:
                await self._engine.transfer(work)
            except InterruptedError:
                raise InterruptedStoringError from None
            except FolderChangedError as error:  # by something that outlived its hook
                log.warning("Stored again: %s action=store_again snapshot=%s", error, self._snapshot.pk)
                await asyncio.sleep(STORE_AGAIN[0])
                continue
            except (OSError, ObjectStoreError) as error:
                if isinstance(error, OSError) and is_of_folder(error):
                    raise
                log.warning("%s action=store_failed snapshot=%s", error, self._snapshot.pk)
            else:
                return
            self._engine.journal.update(
                Snapshot, self._snapshot.pk, {"reason": Reason.STORE_UNAVAILABLE.value}, self._lease
            )
            with suppress(TimeoutError):
                await asyncio.wait_for(self._interrupted.wait(), wait)
