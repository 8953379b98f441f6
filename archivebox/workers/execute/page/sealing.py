"""What follows a Snapshot's last step: its background hooks end, what is derived is made, and it is sealed."""

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Any
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
from archivebox.hooks import discover_hooks, outputs_of
from archivebox.lib.jsonl import JSON
from archivebox.search.backend import SearchUnavailableError, forget
from archivebox.storage.layout import HOOK_RUNS
from archivebox.storage.shared_files import drop_links, place_links, remove_page, stage_links
from archivebox.workers.execute.hooks.capped_log import cut_all
from archivebox.workers.execute.page.durability import make_durable
from archivebox.workers.execute.page.packed_runs import pack, sizes_on_record
from archivebox.workers.execute.page.refused_page import was_refused
from archivebox.workers.execute.page.rows import seal
from archivebox.workers.execute.page.storing import InterruptedStoringError, PageStoring
from archivebox.workers.execute.steps.executor import StepExecutor
from archivebox.workers.execute.steps.schedule import Planned
from archivebox.workers.queue.quarantine import folder_unusable, is_of_folder

log = logging.getLogger(__name__)

SYNC_AGAIN = 5.0
"""Seconds until files are synced again that could not be."""


class Phase(Enum):
    """How far a Snapshot has come after its last step."""

    STEPS = "steps"
    STOPPING = "stopping"
    CLOSING_PAGE = "closing the page"
    FINISHING = "only downloads are left"
    DERIVING = "deriving"
    LINKING = "linking to an unchanged version"
    ENDING = "running on_SnapshotEnd hooks"
    SEALING = "sealing"


LINKED = "linked"
"""The value of KEEP_UNCHANGED with which an unchanged version has the files of the one before."""
_WINDING_DOWN = frozenset({Phase.STEPS, Phase.STOPPING, Phase.CLOSING_PAGE, Phase.FINISHING})


class Sealing:
    """The phases of one Snapshot after its last step; ``advance`` is called after each event and never waits."""

    def __init__(self, steps: StepExecutor, snapshot: Snapshot, storing: PageStoring) -> None:
        self.phase = Phase.STEPS
        self.final_changed = False
        """Whether a result that others may be made from became final in this worker's hands."""
        self._steps, self._engine = steps, steps.engine
        self._schedule = steps.schedule
        self._snapshot = snapshot
        self._storing = storing
        self._outdated: set[Planned] = set()
        """What is derived and ran, or still runs, on results that have become others."""
        self._end_hooks: list[Planned] = []
        self._task: asyncio.Task[None] | None = None
        self._linking: asyncio.Task[None] | None = None
        self._is_interrupted = False
        self._linked: set[str] = set()
        """Plugins of which files are now those of the version before."""

    @property
    def _keep_unchanged(self) -> JSON:
        return self._steps.call.settings.get("KEEP_UNCHANGED")

    def advance(self) -> None:
        """TERM to all background hooks at once; the page last; then what is derived; then the seal."""
        if self.phase in _WINDING_DOWN:
            self._wind_down()
        elif self.phase is Phase.DERIVING:
            self._make_anew()
            if not self._derived_left():
                self._link_or_end()
        if self.phase is Phase.ENDING and all(item.is_settled for item in self._end_hooks):
            self.phase = Phase.SEALING
            self._engine.on_capacity()
            self._task = self._engine.in_background(self._seal())

    def _wind_down(self) -> None:
        """From the beginning each time: what was told to stop may have been started again, with its page or alone."""
        if self._stop(session=False):
            self.phase = Phase.STOPPING
        elif self._stop(session=True):
            self.phase = Phase.CLOSING_PAGE
        elif not self._downloads_left():
            self._derive()
        elif self.phase is not Phase.FINISHING:
            self._needs_no_browser(Phase.FINISHING)

    async def finish(self) -> bool:
        """Wait for the seal, if it has begun; False if it has not, or waits for the object store."""
        if self._linking is not None:
            await self._linking
        if self._task is None:
            return False
        # A store that is away keeps nobody waiting: the page is given back, and stored later.
        interrupting = self._engine.loop.call_later(self._engine.stop_grace, self._storing.interrupt)
        await self._task
        interrupting.cancel()
        return not self._is_interrupted

    def _stop(self, *, session: bool) -> bool:
        """Whether background hooks of this kind run that do not end by themselves; they are told to.

        One that says when it is ready is told from then on: before, it may die of TERM, as it has no handler yet.
        """
        items = [item for item in self._schedule.running() if item.runs_until_stopped and item.hook.session == session]
        listening = [item for item in items if item.is_ready or not item.hook.ready]
        self._steps.runs.stop_background(listening, self._engine.seal_grace)
        return bool(items)

    def _downloads_left(self) -> bool:
        return any(item.hook.finite and (item.is_queued or item.is_running) for item in self._schedule.planned)

    def _derived_left(self) -> bool:
        return any(item.hook.derived and not item.is_settled for item in self._schedule.planned)

    def _needs_no_browser(self, phase: Phase) -> None:
        """Have it on record, so that the browser of the crawl's last page ends while the rest is made of that one."""
        self.phase = phase
        columns = {"finishing": True}
        self._engine.journal.update(Snapshot, self._snapshot.pk, columns, self._steps.lease)
        self._engine.on_capacity()

    # --- what is made from other results ----------------------------------------------------------------------

    def _derive(self) -> None:
        """What is made from other results is made again when one of those became final after it started."""
        self._needs_no_browser(Phase.DERIVING)
        for item in self._schedule.planned:
            if item.hook.derived and not item.is_queued and item.status != "skipped" and self._changed_since(item):
                self._outdated.add(item)
        self.final_changed = False
        self._make_anew()
        self._steps.go_on()

    def _make_anew(self) -> None:
        """What is outdated and still runs is not cut short: it waits for its end."""
        for item in [one for one in self._outdated if one.is_settled]:
            self._outdated.remove(item)
            item.status, item.run = "queued", None
            self._steps.go_on()

    def _changed_since(self, item: Planned) -> bool:
        started = item.run.row.started_at if item.run is not None else None
        if started is None:
            return self.final_changed
        sources = self._schedule.sources_of(item)
        if not self._outdated.isdisjoint(sources):
            return True  # one that is derived itself, and made again
        ends = [other.run.row.ended_at for other in sources if other.run is not None]
        return any(ended_at > started for ended_at in ends if ended_at is not None)

    # --- what an unchanged version has in common with the one before ------------------------------------------

    @property
    def may_have_links(self) -> bool:
        """Whether files of it may be those of another version, so that nothing may write into them."""
        return bool(self._linked) or self._snapshot.sealed_at is not None

    def _may_link(self) -> bool:
        """Whether to look, once, if it is unchanged; a page that was sealed before keeps its files."""
        return self._linking is None and self._snapshot.sealed_at is None and self._keep_unchanged == LINKED

    def _link_or_end(self) -> None:
        if self._may_link():
            self.phase = Phase.LINKING
            self._linking = self._engine.in_background(self._link())
        else:
            self.phase = Phase.ENDING
            self._start_end_hooks()

    async def _link(self) -> None:
        """Link the outputs of an unchanged version to those of the one before, and hash and sign it anew."""
        try:
            self._linked = await self._link_outputs(self._steps.call.object_dir)
        except OSError as error:
            self._steps.fail(error)
            return
        self.phase = Phase.DERIVING
        if self._linked:
            self._outdated.update(item for item in self._schedule.planned if is_hashing(item))
            self._derive()
        self._steps.advance()

    async def _link_outputs(self, folder: Path) -> set[str]:
        """The plugins of which files are links now: only to what the same owner has."""
        former = await self._unchanged_since(folder)
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

    def _start_end_hooks(self) -> None:
        """``on_SnapshotEnd`` hooks have no results of their own; they run at every seal."""
        self._end_hooks = [Planned(hook) for hook in discover_hooks("SnapshotEnd")]
        for item in self._end_hooks:
            if self._steps.call.settings.reason_to_skip(item.hook) is None:
                self._steps.runs.launch(item)
            else:
                item.status = "skipped"

    # --- the seal ---------------------------------------------------------------------------------------------

    async def _seal(self) -> None:
        try:
            await self._keep_and_seal()
        except OSError as error:
            self._steps.fail(error)
        except InterruptedStoringError:
            self._is_interrupted = True

    async def _keep_and_seal(self) -> None:
        folder = self._steps.call.object_dir
        await self._steps.runs.end_orphans(self._engine.stop_grace)
        self._engine.outputs.unwatch_folder(str(folder / HOOK_RUNS))
        waits = is_unsigned(folder)
        was_kept = not (self._steps.runs.marks or waits or self._snapshot.reason)
        reason = "" if was_kept else await self._keep(folder)
        if self._steps.leased.may_be_lost:
            return  # whoever takes it over seals it
        await self._correct_files(folder, signed_in=Path(MANIFEST).parent.name if waits else "")
        is_kept = reason or self._keep_unchanged is not False or self._snapshot.sealed_at is not None
        former = None if is_kept else await self._unchanged_since(folder)
        is_sealed = await self._store_and_seal(folder, reason, former)
        if former is not None and is_sealed:
            await self._engine.loop.run_in_executor(None, clear_away, self._snapshot)
        self._steps.leased.finish()

    async def _store_and_seal(self, folder: Path, reason: str, former: Snapshot | None) -> bool:
        """With STORAGE_URL its files are stored first, but for those of a version that is not kept."""
        stored = await self._storing.store(folder) if has_store() and former is None else None
        is_sealed: bool = await self._engine.journal.read(seal, self._snapshot, reason, former, stored)
        if is_sealed and stored is not None:
            await self._engine.transfer(note_adopted, stored)
        return is_sealed

    async def _correct_files(self, folder: Path, signed_in: str) -> None:
        """Have rows name the files that are there: some spoke of the live page, or were packed, or signed since.

        An earlier worker may have listed them, and died.
        """
        rows = ArchiveResult.objects.filter(snapshot=self._snapshot).exclude(output_files={})
        listed = await self._engine.journal.read(lambda: list(rows.values_list("pk", "plugin", "output_files")))
        anew = {*self._linked, signed_in}
        changed = await self._engine.loop.run_in_executor(None, renewed_file_columns, folder, listed, anew)
        for key, columns in changed.items():
            self._engine.journal.update(ArchiveResult, key, columns, self._steps.lease)

    async def _unchanged_since(self, folder: Path) -> Snapshot | None:
        """The version before it that says the same."""
        if any(item.is_settled and was_refused(item) for item in self._schedule.navigations):
            return None
        former: Snapshot | None = await self._engine.journal.read(version_before, self._snapshot)
        if former is None:
            return None
        run = self._engine.loop.run_in_executor
        is_same = await run(None, says_the_same, await run(None, local_folder, former), folder)
        return former if is_same else None

    async def _keep(self, folder: Path) -> str:
        """Tidy and sign the folder and see that it survives a power cut; the reason code, where it cannot be used.

        A full disk is waited out: a Snapshot whose files may vanish is not sealed.
        """
        on_record = await self._engine.journal.read(sizes_on_record, self._snapshot.pk)
        while not self._steps.leased.may_be_lost:
            try:
                await self._engine.loop.run_in_executor(None, tidy, folder, on_record, self._steps.output_max)
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


def is_hashing(item: Planned) -> bool:
    """Whether it says what each file of the page is."""
    is_evidence = any(output.role == "evidence" for output in outputs_of(item.hook.plugin))
    return item.hook.derived and is_evidence and item.status != "skipped"


def renewed_file_columns(
    folder: Path, listed: Iterable[tuple[UUID, str, Mapping[str, Mapping[str, JSON]]]], anew: set[str]
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
