"""Pages of a source are written batch by batch; whatever goes wrong, each is written once, and nothing is left."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.outcomes import Status
from archivebox.imports.batch import TWICE, BatchWriter, Item, PageBatch, PagePlanner
from archivebox.imports.page import ImportedFile, ImportedOutput, ImportedPage, do_nothing
from archivebox.imports.page_files import Transfer

HOLE = 64 << 30
"""Bytes of a file that takes longer to read than the test. It takes no disk."""
MOST = 30
"""Pages of a batch."""
FIRST_DAY = datetime(2001, 2, 3, tzinfo=UTC)


class MadeSource:
    """Two batches of pages with one file each."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.planner = PagePlanner(str(root), "system")
        self.pages = [self._page(number) for number in range(2 * MOST)]
        self.committed = set[str]()

    def fill(self) -> None:
        for number in range(len(self.pages)):
            self.file(number).write_text(f"<p>{number}")

    def file(self, number: int) -> Path:
        return self.root / f"{number:02}.html"

    def folder(self, number: int) -> Path:
        """Of a page in the collection."""
        return DATA_FOLDER.root / self.planner.plan(self.pages[number]).folder

    def saved(self, number: int) -> Path:
        return self.folder(number) / "singlefile/singlefile.html"

    def behind(self, after: str) -> Iterator[Item]:
        return iter([page for page in self.pages if page.key > after])

    def known(self, pages: Sequence[ImportedPage]) -> set[str]:
        return {page.key for page in pages} & self.committed

    def writer(
        self,
        stop: Callable[[], None] = do_nothing,
        *,
        behind: Callable[[str], Iterator[Item]] | None = None,
        transfer: Transfer = Transfer.COPY,
        may_discard: bool = True,
    ) -> BatchWriter:
        return BatchWriter(behind or self.behind, transfer, stop, lambda: may_discard)

    def write(self, writer: BatchWriter, after: str = "") -> PageBatch:
        return writer.write(after, MOST, self.known, self.planner, to_end=bool(after))

    def write_and_commit(self, writer: BatchWriter, after: str = "") -> PageBatch:
        batch = self.write(writer, after)
        self.committed |= {page.page.key for page in batch.written}
        return batch

    def assert_is_saved(self, *batches: PageBatch) -> None:
        """All pages, each once, and nothing else."""
        written = [page.page.key for batch in batches for page in batch.written]
        assert written == [page.key for page in self.pages]
        assert [one for batch in batches for one in (*batch.failed, *batch.left_out)] == []
        for number in range(len(self.pages)):
            assert self.saved(number).read_text() == self.file(number).read_text()
            names = sorted(path.name for path in self.folder(number).rglob("*") if path.is_file())
            assert names == ["hashes.json", "signature.json", "signature.pem", "signature.sig", "singlefile.html"]
        assert len(list(self.folder(0).parent.iterdir())) == len(self.pages)

    def _page(self, number: int) -> ImportedPage:
        files = (ImportedFile("singlefile.html", str(self.file(number))),)
        return ImportedPage(
            key=f"{number:02}",
            url=f"https://{self.root.parent.name.replace('_', '-')}.example/{number}",
            captured_at=FIRST_DAY + timedelta(seconds=number),
            outputs=(ImportedOutput("singlefile", Status.SUCCEEDED, files),),
        )


@pytest.fixture
def source(tmp_path: Path) -> MadeSource:
    root = tmp_path / "source"
    root.mkdir()
    made = MadeSource(root)
    made.fill()
    return made


def test_each_page_is_written_once_by_one_of_two_batches(source: MadeSource) -> None:
    with source.writer() as writer:
        first = source.write_and_commit(writer)
        second = source.write_and_commit(writer, first.last)
    assert (first.pages, second.pages, first.is_over, second.is_over) == (MOST, MOST, False, True)
    source.assert_is_saved(first, second)


def test_a_page_that_the_source_has_twice_is_written_once(source: MadeSource) -> None:
    source.pages[2] = replace(source.pages[1], done=lambda: None)
    source.pages[MOST] = replace(source.pages[MOST - 1], done=lambda: None)
    with source.writer(behind=lambda after: iter(source.pages[MOST if after else 0 :])) as writer:
        first = source.write_and_commit(writer)
        second = source.write_and_commit(writer, first.last)
    assert [(one.item, one.reason) for one in first.failed] == [(source.pages[1].url, TWICE)]
    assert (len(first.written), len(second.written), second.known) == (MOST - 1, MOST - 1, 1)


def test_after_a_failed_commit_all_is_written_anew(source: MadeSource) -> None:
    with source.writer() as writer:
        source.write(writer)
        begun = source.saved(0).stat().st_ctime_ns
        first = source.write_and_commit(writer)
        assert source.saved(0).stat().st_ctime_ns > begun
        second = source.write_and_commit(writer, first.last)
    source.assert_is_saved(first, second)


@pytest.mark.parametrize("may_discard", [True, False])
def test_a_stop_leaves_nothing_unless_another_worker_has_the_job(source: MadeSource, may_discard: bool) -> None:
    os.truncate(source.file(MOST - 1), HOLE)

    def stop() -> None:
        if source.saved(MOST - 1).exists():
            raise InterruptedError

    with source.writer(stop, transfer=Transfer.LINK, may_discard=may_discard) as writer:
        with pytest.raises(InterruptedError):
            source.write(writer)
        assert [source.folder(number).exists() for number in range(MOST)] == [not may_discard] * MOST


def test_after_a_stop_all_is_written_anew(source: MadeSource) -> None:
    is_stopped = True

    def stop() -> None:
        if is_stopped and source.saved(MOST - 1).exists():
            raise InterruptedError

    with source.writer(stop) as writer:
        with pytest.raises(InterruptedError):
            source.write(writer)
        is_stopped = False
        first = source.write_and_commit(writer)
        source.assert_is_saved(first, source.write_and_commit(writer, first.last))


def test_a_collection_that_cannot_be_written_to_ends_its_batch_alone(source: MadeSource) -> None:
    page = source.pages[MOST + 1]
    source.pages[MOST + 1] = replace(page, captured_at=page.captured_at - timedelta(days=365))
    day = source.folder(MOST + 1).parents[1]
    day.parent.mkdir(parents=True, exist_ok=True)
    day.symlink_to(day)  # nothing can be made there
    with source.writer() as writer:
        first = source.write_and_commit(writer)
        with pytest.raises(OSError, match=day.name):
            source.write(writer, first.last)
        assert not source.folder(MOST).exists()
        day.unlink()
        source.pages[MOST + 1] = page
        source.assert_is_saved(first, source.write_and_commit(writer, first.last))


def test_a_source_that_cannot_be_read_on_ends_its_batch_alone(source: MadeSource) -> None:
    is_damaged = True

    def behind(after: str) -> Iterator[Item]:
        for page in source.behind(after):
            if is_damaged and page is source.pages[2 * MOST - 1]:
                raise sqlite3.DatabaseError
            yield page

    with source.writer(behind=behind) as writer:
        first = source.write_and_commit(writer)
        with pytest.raises(sqlite3.DatabaseError):
            source.write(writer, first.last)
        assert not any(source.folder(number).exists() for number in range(MOST, 2 * MOST))
        is_damaged = False
        source.assert_is_saved(first, source.write_and_commit(writer, first.last))


def test_files_of_an_attempt_that_was_cut_short_are_replaced(source: MadeSource) -> None:
    for name in ("singlefile/singlefile.html", "singlefile/half", "hashes/hashes.json"):
        path = source.folder(0) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("left")
    with source.writer() as writer:
        first = source.write_and_commit(writer)
        source.assert_is_saved(first, source.write_and_commit(writer, first.last))
