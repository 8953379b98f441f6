"""Owns one leased page's use of the object store: it is stored before its seal, and fetched before it runs again."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import TypeVar

from archivebox.contract.reasons import Reason
from archivebox.core.page_storage.folder import fetch_copy
from archivebox.core.page_storage.stored_object import StoredObject
from archivebox.core.page_storage.uploading import (
    PageContents,
    PageUpload,
    begin_upload,
    note_stored,
    read_contents,
    send_page,
)
from archivebox.core.snapshot import Snapshot
from archivebox.lib.object_store import ObjectStoreError
from archivebox.storage.page_archive import FolderChangedError
from archivebox.workers.execute.engine import Engine
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.quarantine import is_of_folder

log = logging.getLogger(__name__)
T = TypeVar("T")

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
        while True:
            try:
                return await self._store(folder)
            except FolderChangedError as error:  # by something that outlived its hook
                log.warning("Stored again: %s action=store_again snapshot=%s", error, self._snapshot.pk)
                await asyncio.sleep(STORE_AGAIN[0])

    async def _store(self, folder: Path) -> PageUpload | None:
        contents = await self._engine.transfer(_contents, folder)
        if contents is None:
            return None
        journal = self._engine.journal
        upload = await journal.read(begin_upload, self._snapshot.pk, contents)
        note_upload = partial(self._note_upload, upload.page)
        await self._persist(partial(send_page, upload, note_upload, lambda: not self._interrupted.is_set()))
        await self._engine.transfer(note_stored, upload)
        return upload

    async def _persist(self, work: Callable[[], T]) -> T:
        for wait in chain(STORE_AGAIN, repeat(STORE_AGAIN[-1])):
            if self._interrupted.is_set():
                raise InterruptedStoringError
            try:
                return await self._engine.transfer(work)
            except InterruptedError:
                raise InterruptedStoringError from None
            except OSError as error:
                if isinstance(error, FolderChangedError) or is_of_folder(error):
                    raise
                log.warning("%s action=store_failed snapshot=%s", error, self._snapshot.pk)
            except ObjectStoreError as error:
                log.warning("%s action=store_failed snapshot=%s", error, self._snapshot.pk)
            self._engine.journal.update(
                Snapshot, self._snapshot.pk, {"reason": Reason.STORE_UNAVAILABLE.value}, self._lease
            )
            try:
                await asyncio.wait_for(self._interrupted.wait(), wait)
            except TimeoutError:
                continue
        raise AssertionError("repeats for ever")

    def _note_upload(self, row: StoredObject, upload_id: str) -> None:
        """On a thread of the transfer, which waits for the commit."""
        rows = StoredObject.objects.filter(pk=row.pk)
        write = self._engine.journal.read(partial(rows.update, upload=upload_id))
        asyncio.run_coroutine_threadsafe(write, self._engine.loop).result()


def _contents(folder: Path) -> PageContents | None:
    return read_contents(folder) if folder.is_dir() else None
