"""Owns the results of a snapshot as its page lists them: what is missing first, what does not apply folded away."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from archivebox.contract.formats import File
from archivebox.contract.verdicts import is_consequence, is_missed
from archivebox.core.archiveresult import ArchiveResult
from archivebox.machine.process import Process
from archivebox.web.page.plugin_file_address import address_of

FILES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class ListedResult:
    """One result: its first files with their addresses, how many more there are, and its tries, the latest first."""

    result: ArchiveResult
    files: list[tuple[str, File]]
    more: int
    tries: list[Process]

    @property
    def is_consequence(self) -> bool:
        """Whether another result says why."""
        return is_consequence(self.result)

    @property
    def seconds(self) -> float | None:
        """How long its latest try took; None for what did not run."""
        if self.result.status == "skipped":
            return None
        if self.tries:
            return self.tries[0].seconds
        start, end = self.result.start_ts, self.result.end_ts
        return (end - start).total_seconds() if start and end else None


@dataclass(frozen=True, slots=True)
class ListedResults:
    """All results of a page, by what they are to people."""

    missing: list[ListedResult]
    open: list[ListedResult]
    kept: list[ListedResult]
    apart: list[ListedResult]

    @property
    def open_groups(self) -> list[tuple[str, list[ListedResult]]]:
        """What somebody may have to see to, with a word for each."""
        return _named(("Missing", self.missing), ("In progress", self.open))

    @property
    def folded_groups(self) -> list[tuple[str, list[ListedResult]]]:
        """What is as it should be."""
        return _named(("Saved", self.kept), ("No results, or not applicable", self.apart))


def _named(*groups: tuple[str, list[ListedResult]]) -> list[tuple[str, list[ListedResult]]]:
    return [(name, lines) for name, lines in groups if lines]


def group_results(results: Iterable[ArchiveResult], processes: Iterable[Process], base: str) -> ListedResults:
    """Each result in its group, in the order in which hooks run."""
    tries: dict[UUID | None, list[Process]] = defaultdict(list)
    for process in processes:
        if process.process_type == Process.TypeChoices.HOOK:
            tries[process.archiveresult_id].append(process)
    found = ListedResults([], [], [], [])
    for result in sorted(results, key=lambda one: (one.hook_name or one.plugin, one.plugin)):
        _group(found, result).append(_line(result, tries[result.pk], base))
    return found


def _group(lines: ListedResults, result: ArchiveResult) -> list[ListedResult]:
    if is_missed(result):
        return lines.missing
    if result.status in {"queued", "started"}:
        return lines.open
    return lines.kept if result.status == "succeeded" else lines.apart


def _line(result: ArchiveResult, tries: list[Process], base: str) -> ListedResult:
    names = sorted(result.output_files.items())
    files = [
        (base + address_of(result.plugin, name), File(name, about.get("size", 0), about.get("mimetype", "")))
        for name, about in names[:FILES_SHOWN]
    ]
    return ListedResult(result, files, len(names) - len(files), tries)
