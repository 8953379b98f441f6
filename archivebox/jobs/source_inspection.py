"""Owns reading what a source holds before somebody decides to import it: as a job, because that may take minutes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from archivebox.imports.accounts_and_settings import CollectionReader
from archivebox.imports.import_folder import LeftOutList
from archivebox.imports.page import InterruptibleReader, NotReadableError, Reader, SourceReport
from archivebox.imports.readers import open_reader
from archivebox.imports.sources import checked_path
from archivebox.jobs.action import DeferredError, JobAction, Options
from archivebox.jobs.job import Job
from archivebox.lib.jsonl import JSON

REPORT = "report"
"""What a job remembers its report under."""


class InspectSource(JobAction):
    """Has no parts: its report is written when all of the source was read, and read again where that was cut short."""

    batch: ClassVar[int] = 1
    pauses_on_full_disk = True

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._is_stopped = False

    @classmethod
    def check(cls, options: Options) -> dict[str, JSON]:
        del options
        raise ValueError("A source is inspected on the page Import, or by POST /api/v1/imports.")

    def interrupt(self) -> None:
        self._is_stopped = True

    def finish(self) -> None:
        path = source_path(self.job)
        if path.is_file() and path.stat().st_size < self.job.memory.get("size", 0):
            raise NotReadableError("The file has not arrived as a whole.")
        try:
            self._inspect(path)
        except NotReadableError as error:  # of an uploaded file its own name says more than where it lies here
            raise NotReadableError(str(error).replace(str(path), self.job.memory["name"])) from None

    def _inspect(self, path: Path) -> None:
        reader = open_reader(path)
        if isinstance(reader, InterruptibleReader):
            reader.stop = self._stop
        report = reader.report()
        LeftOutList(self.job.pk).append(0, report.not_imported)
        self.job.memory[REPORT] = _remembered(reader, report)

    def _stop(self) -> None:
        if self._is_stopped:
            raise DeferredError


def source_path(job: Job) -> Path:
    """Where its source lies; NotReadableError where a path that was named may not be named any more."""
    path: str = job.options["path"]
    return Path(path) if "upload" in job.memory else checked_path(path)


def _remembered(reader: Reader, report: SourceReport) -> dict[str, JSON]:
    """The report without the list of what is left out, which has a file of its own."""
    has_more = isinstance(reader, CollectionReader) and bool(reader.accounts_and_settings().notes)
    return {
        "kind": report.kind, "pages": report.pages, "files": report.files, "size": report.size,
        "left_out": len(report.not_imported), "identity": report.identity, "notes": list(report.notes),
        "has_more": has_more,
    }  # fmt: skip


def report_of(job: Job) -> SourceReport | None:
    """What was found, but for the list of what is left out; None: nothing yet."""
    found: Mapping[str, Any] | None = job.memory.get(REPORT)
    if found is None:
        return None
    names = ("kind", "pages", "files", "size", "identity")
    return SourceReport(**{name: found[name] for name in names}, notes=tuple(found["notes"]))
