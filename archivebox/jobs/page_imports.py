"""Owns importing pages that were archived elsewhere: as a job that reads and writes some of them at a time."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar
from uuid import UUID

from archivebox.base_models.transient import OF_DATABASE
from archivebox.config.page_storage import has_store
from archivebox.core.page_storage.uploading import store_marked
from archivebox.core.snapshot import Snapshot
from archivebox.imports.accounts_and_settings import CollectionReader, import_accounts_and_settings
from archivebox.imports.batch import BatchWriter, Item, PageBatch, PagePlanner
from archivebox.imports.import_folder import LeftOutList
from archivebox.imports.page import ImportedPage, InterruptibleReader, NotReadableError, Reader
from archivebox.imports.page_files import Transfer
from archivebox.imports.readers import open_reader
from archivebox.imports.rows import PageImport
from archivebox.jobs.action import DeferredError, Failures, JobAction, Options
from archivebox.jobs.models import Job, JobPart
from archivebox.lib.jsonl import JSON
from archivebox.lib.object_store import ObjectStoreError
from archivebox.search.backend import SearchUnavailableError, learn

log = logging.getLogger(__name__)

FEWER = "The source has fewer pages than when the import began."
NOT_STORED = (
    "The object store did not answer: pages that are not stored yet are stored when it does, by a running server."
)
NOT_INDEXED = "Not all pages could be added to the search index: `archivebox manage reindex` rebuilds it."


@dataclass(slots=True)
class ImportCounts:
    """What an import has done so far."""

    imported: int = 0
    known: int = 0
    """Pages that were imported before."""
    left_out: int = 0
    """Pages, files and other items that were not imported."""
    files: int = 0
    size: int = 0

    def add(self, batch: PageBatch) -> None:
        self.imported += len(batch.written)
        self.known += batch.known
        self.left_out += len(batch.failed) + len(batch.left_out)
        self.files += sum(len(written.hashes) for written in batch.written)
        self.size += sum(written.size for written in batch.written)


class ImportPages(JobAction):
    """Imports pages with their files; each key of a part stands for a page of the source."""

    batch: ClassVar[int] = 200
    pauses_on_full_disk = True

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._is_stopped = False
        self._reader: Reader | None = None
        self._done = PageBatch()
        self._importing: PageImport | None = None
        self._length = 0
        self._problem = ""
        self._is_store_away = False

    @classmethod
    def check(cls, options: Options) -> dict[str, JSON]:
        del options
        raise ValueError("An import of pages begins with `archivebox import PATH`.")

    def begin_or_resume(self) -> bool:
        path = Path(self.job.options["path"])
        if path.resolve() != path:
            raise NotReadableError(f"{path} is another folder than when the import began: a symbolic link has changed.")
        self._reader = open_reader(path)
        if isinstance(self._reader, InterruptibleReader):
            self._reader.stop = self._stop
        return True

    def interrupt(self) -> None:
        self._is_stopped = True

    def close(self) -> None:
        self._batches.close()

    def _stop(self) -> None:
        if self._is_stopped:
            raise DeferredError

    # --- a part -----------------------------------------------------------------------------------------------

    def prepare(self, keys: Sequence[UUID]) -> None:
        """Bring the files of a part into the collection."""
        self._end_former()
        self._importing = self._import()
        after, known = self.job.memory["after"], self._importing.known
        self._done = self._batches.write(after, len(keys), known, self._planner(), to_end=self._is_last_part())
        left_out = [*self._done.failed, *self._done.left_out]
        self._length = LeftOutList(self.job.pk).append(self.job.memory["length"], left_out)

    def prepared(self, keys: Sequence[UUID]) -> int:
        return len(keys) if self._done.is_over else min(self._done.pages, len(keys))

    def write(self, keys: Sequence[UUID]) -> Failures:
        """The rows of the part, and how far it is."""
        done, memory = self._done, self.job.memory
        assert self._importing is not None  # noqa: S101 - `prepare` comes first
        self._importing.write(done.written)
        counts = ImportCounts(**memory["counts"])
        counts.add(done)
        memory |= {"counts": asdict(counts), "after": done.last or memory["after"], "length": self._length,
                   "note": self._problem or memory["note"],
                   "crawls": list(map(str, self._importing.crawls)),
                   "to_index": [str(page.key) for page in done.written]}  # fmt: skip
        if self._importing.crawls:
            memory["crawl"] = memory["crawls"][0]
        sentences = [f"{one.item}: {one.reason}" for one in done.failed] + [FEWER] * (len(keys) - done.pages)
        return dict(zip(keys, sentences, strict=False))

    def finish(self) -> None:
        self._end_former()
        self.job.memory |= {"to_index": [], "note": self._problem or self.job.memory["note"]}
        if self.job.options.get("all"):
            self._take_over()
        if self.job.options["transfer"] == Transfer.MOVE and not self.job.failed:
            self._remove_sources()

    def _is_last_part(self) -> bool:
        return not JobPart.objects.filter(job=self.job, number__gt=self.job.position).exists()

    def _pages_behind(self, after: str) -> Iterator[Item]:
        assert self._reader is not None  # noqa: S101 - `begin_or_resume` comes first
        return self._reader.pages(after)

    def _import(self) -> PageImport:
        memory, crawls = self.job.memory, [UUID(key) for key in self.job.memory["crawls"]]
        label = f"Import of {memory.get('name', self.job.options['path'])}"
        return PageImport(memory["source"], label, self.job.created_by, self.job.options["visibility"], crawls)

    def _planner(self) -> PagePlanner:
        return PagePlanner(self.job.memory["source"], self.job.created_by.username)

    @cached_property
    def _batches(self) -> BatchWriter:
        return BatchWriter(self._pages_behind, Transfer(self.job.options["transfer"]), self._stop, self._holds_lease)

    def _holds_lease(self) -> bool:
        """Else somebody else goes on with the same pages, or will: their files are his. So where nobody can tell."""
        try:
            return Job.objects.filter(self.job.guard()).exists()
        except OF_DATABASE as problem:
            log.warning("Files of pages without rows stay: %s action=files_left job=%s", problem, self.job.pk)
            return False

    def _end_former(self) -> None:
        """Have the pages of the part before this one stored, and found by their words; that may be done twice."""
        keys = self.job.memory["to_index"]
        if not keys:
            return
        self._store(keys)
        try:
            learn(Snapshot.objects.filter(pk__in=keys))
        except SearchUnavailableError as problem:
            self._problem = f"{NOT_INDEXED} {problem}"

    def _store(self, keys: Sequence[str]) -> None:
        """Pages stay marked that are not stored now: the upkeep of the store does it."""
        if not has_store() or self._is_store_away:
            return
        try:
            store_marked(lambda: not self._is_stopped, map(UUID, keys))
        except ObjectStoreError as problem:
            log.warning("%s action=import_not_stored job=%s", problem, self.job.pk)
            self._is_store_away, self._problem = True, NOT_STORED

    def _take_over(self) -> None:
        """Accounts, schedules and settings, where the source is a whole collection."""
        if not isinstance(self._reader, CollectionReader):
            return
        left_out, memory = (
            import_accounts_and_settings(self._reader.accounts_and_settings(), self.job.created_by),
            self.job.memory,
        )
        LeftOutList(self.job.pk).append(memory["length"], left_out)
        memory["counts"] |= {"left_out": memory["counts"]["left_out"] + len(left_out)}

    def _remove_sources(self) -> None:
        """All was imported and compared: the files leave the source."""
        assert self._reader is not None  # noqa: S101 - `begin_or_resume` comes first
        planner, importing = self._planner(), self._import()
        for item in self._reader.pages():
            if isinstance(item, ImportedPage):
                if importing.known([item]):
                    planner.remove_sources(item, self._stop)
                item.done()
