"""The files of a Snapshot once its hooks have ended: tidied, signed, made durable, stored; then its row is sealed."""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from archivebox.config.page_storage import has_store
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.evidence.signature import is_unsigned, sign
from archivebox.core.evidence.signer import MANIFEST, KeyUnusableError
from archivebox.core.evidence.verification import listed_digests
from archivebox.core.outputs.output_files import output_columns
from archivebox.core.page_storage.folder import local_folder
from archivebox.core.page_storage.uploading import note_adopted
from archivebox.core.snapshot import Snapshot
from archivebox.core.versions.unchanged_text import linkable_plugins, says_the_same, version_before
from archivebox.hooks import Call
from archivebox.lib.files import fsync_tree
from archivebox.lib.jsonl import JSON
from archivebox.lib.system_calls import HAS_SYNCFS, syncfs
from archivebox.search.backend import SearchUnavailableError, forget
from archivebox.storage.layout import HOOK_RUNS
from archivebox.storage.shared_files import drop_links, place_links, remove_page, stage_links
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.hooks.capped_log import cut_all
from archivebox.workers.execute.page.packed_runs import pack, sizes_on_record
from archivebox.workers.execute.page.rows import seal
from archivebox.workers.execute.page.storing import PageStoring
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.quarantine import folder_unusable, is_of_folder

log = logging.getLogger(__name__)

SYNC_AGAIN = 5.0
"""Seconds until files are synced again that could not be."""


LINKED = "linked"
"""The value of KEEP_UNCHANGED with which an unchanged version has the files of the one before."""


class Sealing:
    """What is done with the files and rows of one Snapshot once its hooks have ended."""

    def __init__(self, engine: Engine, lease: Lease, snapshot: Snapshot, storing: PageStoring, call: Call) -> None:
        self._engine, self._lease, self._snapshot, self._storing = engine, lease, snapshot, storing
        self._folder, self._keep_unchanged = call.object_dir, call.settings.get("KEEP_UNCHANGED")
        self._output_max = call.settings.get_int("HOOK_OUTPUT_MAX")

    async def link_outputs(self, *, is_refused: bool) -> set[str]:
        """Link the outputs of an unchanged version to those of the one before, where that is of the same owner.

        Returns the plugins of which files are links now, which are to be hashed and signed anew.
        """
        folder = self._folder
        former = await self._unchanged_since(is_refused=is_refused)
        if former is None or former.created_by_id != self._snapshot.created_by_id:
            return set()
        run = self._engine.loop.run_in_executor
        source = await run(None, local_folder, former)
        digests = await run(None, listed_digests, source)
        paths = await run(None, stage_links, source, folder, linkable_plugins(), digests)
        if await self._engine.journal.read(version_before, self._snapshot) == former:
            return await run(None, place_links, source, folder, paths)
        await run(None, drop_links, folder)  # a hook of that version may have started before there were links
        return set()

    async def seal(
        self, *, has_run: bool, is_refused: bool, linked: frozenset[str], may_be_lost: Callable[[], bool]
    ) -> bool:
        """Keep the files and seal the row. False where another machine may have it, which seals it then.

        OSError, InterruptedStoringError.
        """
        folder = self._folder
        self._engine.outputs.unwatch_folder(str(folder / HOOK_RUNS))
        waits = is_unsigned(folder)
        was_kept = not (has_run or waits or self._snapshot.reason)
        reason = "" if was_kept else await self._keep(folder, may_be_lost)
        if may_be_lost():
            return False
        await self._correct_files(folder, linked | ({Path(MANIFEST).parent.name} if waits else set()))
        is_kept = reason or self._keep_unchanged is not False or self._snapshot.sealed_at is not None
        former = None if is_kept else await self._unchanged_since(is_refused=is_refused)
        is_sealed = await self._store_and_seal(folder, reason, former)
        if former is not None and is_sealed:
            await self._engine.loop.run_in_executor(None, clear_away, self._snapshot)
        return True

    async def _store_and_seal(self, folder: Path, reason: str, former: Snapshot | None) -> bool:
        """With STORAGE_URL its files are stored first, but for those of a version that is not kept."""
        stored = await self._storing.store(folder) if has_store() and former is None else None
        is_sealed: bool = await self._engine.journal.read(seal, self._snapshot, reason, former, stored)
        if is_sealed and stored is not None:
            await self._engine.transfer(note_adopted, stored)
        return is_sealed

    async def _correct_files(self, folder: Path, anew: frozenset[str]) -> None:
        """Have rows name the files that are there: some spoke of the live page, or were packed, or signed since.

        An earlier worker may have listed them, and died.
        """
        rows = ArchiveResult.objects.filter(snapshot=self._snapshot).exclude(output_files={})
        listed = await self._engine.journal.read(lambda: list(rows.values_list("pk", "plugin", "output_files")))
        changed = await self._engine.loop.run_in_executor(None, renewed_file_columns, folder, listed, anew)
        for key, columns in changed.items():
            self._engine.journal.update(ArchiveResult, key, columns, self._lease)

    async def _unchanged_since(self, *, is_refused: bool) -> Snapshot | None:
        """The version before it that says the same; what is shown in place of a page is none."""
        if is_refused:
            return None
        former: Snapshot | None = await self._engine.journal.read(version_before, self._snapshot)
        if former is None:
            return None
        run = self._engine.loop.run_in_executor
        is_same = await run(None, says_the_same, await run(None, local_folder, former), self._folder)
        return former if is_same else None

    async def _keep(self, folder: Path, may_be_lost: Callable[[], bool]) -> str:
        """Tidy and sign the folder and see that it survives a power cut; the reason code, where it cannot be used.

        A full disk is waited out: a Snapshot whose files may vanish is not sealed.
        """
        on_record = await self._engine.journal.read(sizes_on_record, self._snapshot.pk)
        while not may_be_lost():
            try:
                await self._engine.loop.run_in_executor(None, tidy, folder, on_record, self._output_max)
                if is_unsigned(folder):
                    await self._engine.loop.run_in_executor(None, sign_hashes, self._snapshot)
                await make_durable(self._engine.loop, folder)
            except OSError as error:
                log.warning("Not on the disk: %s action=sync_failed snapshot=%s", error, self._snapshot.pk)
                if is_of_folder(error):
                    return folder_unusable(error)
                await asyncio.sleep(SYNC_AGAIN)
            else:
                break
        return ""


def clear_away(snapshot: Snapshot) -> None:
    """Delete the files of a version that is not kept. What is left of them, retention takes."""
    try:
        forget([snapshot])
    except SearchUnavailableError as problem:
        log.warning("The search index is not up to date: %s action=index_not_told", problem)
    try:
        remove_page(snapshot.path)
    except OSError as error:
        log.warning("Not deleted: %s action=files_left snapshot=%s", error, snapshot.pk)


def sign_hashes(snapshot: Snapshot) -> None:
    """Sign what was hashed. A page is kept without its signature where there is no key: the next seal makes it."""
    try:
        sign(snapshot.path, DATA_FOLDER.keys, snapshot.pk, snapshot.url)
    except KeyUnusableError as error:
        log.warning("Not signed: %s action=not_signed snapshot=%s", error, snapshot.pk)


def renewed_file_columns(
    folder: Path, listed: Iterable[tuple[UUID, str, Mapping[str, Mapping[str, JSON]]]], anew: frozenset[str]
) -> dict[UUID, dict[str, Any]]:
    """Result → the columns of its files now, of those of which one is gone or has another size, or ``anew``."""
    changed = [(key, plugin) for key, plugin, files in listed if plugin in anew or _is_outdated(folder / plugin, files)]
    columns = {plugin: output_columns(folder / plugin) for _, plugin in changed}
    return {key: columns[plugin] for key, plugin in changed}


def _is_outdated(folder: Path, files: Mapping[str, Mapping[str, JSON]]) -> bool:
    try:
        return any((folder / name).lstat().st_size != about.get("size") for name, about in files.items())
    except OSError:
        return True


def tidy(object_dir: Path, on_record: Mapping[str, Mapping[str, int]], cap: int) -> None:
    """Remove empty logs and empty plugin folders, and pack what is small of the runs on record: once, at the seal.

    Logs are cut to ``cap`` bytes once more.
    """
    runs = object_dir / HOOK_RUNS
    if runs.is_dir():
        cut_all(runs, cap)
        pack(runs, on_record)
    for folder in _entries(object_dir):
        if folder.is_dir(follow_symlinks=False):
            with suppress(OSError):  # most have something in them
                Path(folder).rmdir()


def _entries(folder: Path) -> list["os.DirEntry[str]"]:
    """What is in a folder; nothing where there is none."""
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return list(entries)


# --- on the disk before the seal --------------------------------------------------------------------------------


class Waiting(NamedTuple):
    """Somebody whose folder, open as ``descriptor``, is to be on the disk."""

    descriptor: int
    told: "asyncio.Future[None]"


_waiting: dict[int, list[Waiting]] = {}
"""Those of the next syncfs(2), by file system."""
_syncing: "dict[int, asyncio.Task[None]]" = {}


async def make_durable(loop: asyncio.AbstractEventLoop, folder: Path) -> None:
    """Return once everything below ``folder`` is on the disk; OSError where it is no folder, or cannot be written.

    One syncfs(2) serves all Snapshots that wait when it starts: 60 single fsyncs a Snapshot cost more than the hooks.
    """
    if not HAS_SYNCFS:
        await loop.run_in_executor(None, fsync_tree, folder)
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        system = os.fstat(descriptor).st_dev
        waiting = Waiting(descriptor, loop.create_future())
        _waiting.setdefault(system, []).append(waiting)
        if system not in _syncing:
            _syncing[system] = loop.create_task(_sync_while_wanted(loop, system))
        await waiting.told
    finally:
        os.close(descriptor)


async def _sync_while_wanted(loop: asyncio.AbstractEventLoop, system: int) -> None:
    try:
        while served := _waiting.pop(system, []):
            try:
                await loop.run_in_executor(None, syncfs, served[0].descriptor)
            except OSError as error:
                _tell(served, error)
            else:
                _tell(served, None)
    finally:
        del _syncing[system]


def _tell(served: list[Waiting], error: OSError | None) -> None:
    for _, told in served:
        if told.done():
            continue
        if error is None:
            told.set_result(None)
        else:
            told.set_exception(error)
