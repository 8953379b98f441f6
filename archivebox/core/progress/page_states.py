"""Owns the states of pages in lists: what each came to, by one query for the results of all of them."""

from collections import Counter
from collections.abc import Collection
from typing import Protocol
from uuid import UUID

from archivebox.contract.verdicts import State, judge
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.progress.result_summary import ResultLine
from archivebox.hooks import outputs_of


class JudgedPage(Protocol):
    """A Snapshot, as far as its state depends on its row."""

    @property
    def pk(self) -> UUID: ...
    @property
    def status(self) -> str: ...
    @property
    def http_status(self) -> int: ...


def states_of(pages: Collection[JudgedPage]) -> dict[UUID, State]:
    """Key → how a page is, for people: as its own page, the command line, the API and webhooks say it."""
    return {key: state for key, (state, _) in states_and_counts(pages).items()}


def states_and_counts(pages: Collection[JudgedPage]) -> dict[UUID, tuple[State, dict[str, int]]]:
    """The same, and how many of its results are in which status."""
    results: dict[UUID, list[ResultLine]] = {page.pk: [] for page in pages}
    if results:
        for line in ArchiveResult.objects.filter(snapshot_id__in=results).lines():
            results[line.snapshot_id].append(line)
    return {
        page.pk: (
            judge(page.status, page.http_status, results[page.pk], outputs_of).state,
            dict(Counter(line.status for line in results[page.pk])),
        )
        for page in pages
    }
