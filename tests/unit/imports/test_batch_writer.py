"""Pages of the next batch are begun while one is brought to the disk; whatever goes wrong, each is written once."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.outcomes import Status
from archivebox.imports.batch import Item, PageBatch
from archivebox.imports.batch_writer import BatchWriter
from archivebox.imports.page import ImportedFile, ImportedOutput, ImportedPage
from archivebox.imports.transfer import Transfer
from archivebox.imports.write import PagePlanner
from tests.unit.imports.held_pool import HeldPool

HOLE = 64 << 30
"""Bytes of a file that takes longer to read than the test. It takes no disk."""
MOST = 6
"""Pages of a batch."""
FIRST_DAY = datetime(2001, 2, 3, tzinfo=UTC)
KILLED = """
import os, signal, sys
from pathlib import Path
import django
django.setup()
from archivebox.imports.batch_writer import BatchWriter
from archivebox.imports.transfer import Transfer
from tests.unit.imports.held_pool import HeldPool
from tests.unit.imports.test_batch_writer import MOST, MadeSource

made = MadeSource(Path(sys.argv[1]))
pool = HeldPool(made.saved(MOST), transfer=Transfer.LINK)
made.write(BatchWriter(made.behind, pool, lambda: True))
os.kill(os.getpid(), signal.SIGKILL)
"""


class MadeSource:
    """Two batches of pages with one file each."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.planner = PagePlanner(str(root), "system")
        self.pages = [self._page(number) for number in range(2 * MOST)]
        self.committed = set[str]()
        self.asked: list[str] = []
        """Keys of pages of which was asked whether they are known."""

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
        self.asked += [page.key for page in pages]
        return {page.key for page in pages} & self.committed

    def write(self, writer: BatchWriter, after: str = "") -> PageBatch:
        return writer.write(after, MOST, 0 if after else MOST, self.known, self.planner)

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


def test_pages_are_begun_before_those_ahead_are_committed_and_written_once(source: MadeSource) -> None:
    with HeldPool(source.saved(MOST)) as pool:
        writer = BatchWriter(source.behind, pool, lambda: True)
        first = source.write_and_commit(writer)
        begun = source.saved(MOST).stat()
        second = source.write_and_commit(writer, first.last)
    assert os.path.samestat(source.saved(MOST).stat(), begun)
    assert (first.pages, second.pages, first.is_over, second.is_over) == (MOST, MOST, False, True)
    source.assert_is_saved(first, second)


def test_a_page_that_waits_to_be_committed_is_not_begun_again(source: MadeSource) -> None:
    source.pages[MOST + 1] = replace(source.pages[2], done=lambda: None)
    with HeldPool(source.saved(MOST)) as pool:
        writer = BatchWriter(source.behind, pool, lambda: True)
        source.write(writer)
        assert source.asked == [page.key for page in source.pages[: MOST + 1]]
        source.committed |= set(source.asked[:MOST])
        second = source.write_and_commit(writer, source.pages[MOST - 1].key)
    assert (second.pages, second.known, second.failed) == (MOST, 1, [])
    assert [page.page.key for page in second.written] == [
        page.key for page in (source.pages[MOST], *source.pages[MOST + 2 :])
    ]


def test_after_a_failed_commit_all_is_written_anew(source: MadeSource) -> None:
    with HeldPool(source.saved(MOST)) as pool:
        writer = BatchWriter(source.behind, pool, lambda: True)
        source.write(writer)
        begun = source.saved(MOST).stat().st_ctime_ns
        first = source.write_and_commit(writer)
        assert source.saved(MOST).stat().st_ctime_ns > begun
        second = source.write_and_commit(writer, first.last)
    source.assert_is_saved(first, second)


@pytest.mark.parametrize("may_discard", [True, False])
def test_what_was_begun_is_deleted_unless_somebody_else_has_it(source: MadeSource, may_discard: bool) -> None:
    with HeldPool(source.saved(MOST)) as pool:
        writer = BatchWriter(source.behind, pool, lambda: may_discard)
        source.write_and_commit(writer)
        writer.close()
    assert source.folder(MOST).exists() is not may_discard
    assert all(source.saved(number).exists() for number in range(MOST))


def test_a_stop_while_two_batches_are_at_work_leaves_nothing_of_either(source: MadeSource, tmp_path: Path) -> None:
    is_stopped = True

    def stop() -> None:
        if is_stopped and source.saved(MOST).exists():
            raise InterruptedError

    with HeldPool(tmp_path / "goes-on", stop) as pool:
        writer = BatchWriter(source.behind, pool, lambda: True)
        with pytest.raises(InterruptedError):
            source.write(writer)
        assert not any(source.folder(number).exists() for number in range(2 * MOST))
        is_stopped = False
        (tmp_path / "goes-on").touch()
        first = source.write_and_commit(writer)
        source.assert_is_saved(first, source.write_and_commit(writer, first.last))


def test_what_cannot_be_written_ahead_fails_when_it_is_its_turn(source: MadeSource) -> None:
    page = source.pages[MOST + 1]
    source.pages[MOST + 1] = replace(page, captured_at=page.captured_at - timedelta(days=365))
    day = source.folder(MOST + 1).parents[1]
    day.parent.mkdir(parents=True, exist_ok=True)
    day.symlink_to(day)  # nothing can be made there
    with HeldPool(source.saved(MOST)) as pool:
        writer = BatchWriter(source.behind, pool, lambda: True)
        first = source.write_and_commit(writer)
        assert (len(first.written), first.failed) == (MOST, [])
        with pytest.raises(OSError, match=day.name):
            source.write(writer, first.last)
        assert not source.folder(MOST).exists()
        day.unlink()
        source.pages[MOST + 1] = page
        source.assert_is_saved(first, source.write_and_commit(writer, first.last))


def test_what_cannot_be_read_ahead_fails_when_it_is_its_turn(source: MadeSource) -> None:
    is_damaged = True

    def behind(after: str) -> Iterator[Item]:
        for page in source.behind(after):
            if is_damaged and page is source.pages[MOST + 1]:
                raise sqlite3.DatabaseError
            yield page

    with HeldPool(source.saved(MOST)) as pool:
        writer = BatchWriter(behind, pool, lambda: True)
        first = source.write_and_commit(writer)
        assert len(first.written) == MOST
        with pytest.raises(sqlite3.DatabaseError):
            source.write(writer, first.last)
        assert not source.folder(MOST).exists()
        is_damaged = False
        source.assert_is_saved(first, source.write_and_commit(writer, first.last))


def test_writers_that_are_killed_between_two_batches_lose_no_page(source: MadeSource, tmp_path: Path) -> None:
    os.truncate(source.file(MOST), HOLE)
    killed: list[int] = []

    def stop() -> None:
        if killed or not source.saved(MOST).exists() or threading.current_thread() is not threading.main_thread():
            return
        writers = writers_of(os.getpid())
        for writer in writers:
            writer.suspend()
        os.truncate(source.file(MOST), 4)
        for writer in writers:
            killed.append(writer.pid)
            writer.kill()
        (tmp_path / "goes-on").touch()

    with HeldPool(tmp_path / "goes-on", stop, Transfer.LINK) as pool:
        writer = BatchWriter(source.behind, pool, lambda: True)
        first = source.write_and_commit(writer)
        second = source.write_and_commit(writer, first.last)
    assert killed
    source.assert_is_saved(first, second)


@pytest.mark.once
def test_an_import_killed_between_two_batches_is_written_anew(source: MadeSource) -> None:
    os.truncate(source.file(MOST), HOLE)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "DATA_DIR": str(DATA_FOLDER.root)}
    killed = subprocess.Popen([sys.executable, "-c", KILLED, str(source.root)], env=env)
    killed.wait()
    assert killed.returncode == -9
    assert source.saved(MOST).exists()
    psutil.wait_procs(writers_of(killed.pid), timeout=60)
    assert writers_of(killed.pid) == []
    os.truncate(source.file(MOST), 4)
    with HeldPool(source.saved(MOST), transfer=Transfer.LINK) as pool:
        writer = BatchWriter(source.behind, pool, lambda: True)
        first = source.write_and_commit(writer)
        source.assert_is_saved(first, source.write_and_commit(writer, first.last))


def writers_of(parent: int) -> list[psutil.Process]:
    """Processes that write for this one, which may be dead."""
    mark, found = json.dumps({"parent": parent})[1:-1], []
    for one in psutil.process_iter(["cmdline", "status"]):
        words = one.info["cmdline"] or []
        if "archivebox.imports.writing_main" in words and mark in words[-1]:
            found.append(one)
    return found
