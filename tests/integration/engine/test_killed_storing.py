"""A worker that is killed while files are stored: nothing is lost, and no page sealed too soon."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.integration.engine.driver import REPOSITORY, Collection, collection

pytestmark = pytest.mark.once
URL = "http://one.test/"
BODY = f"shared-{'ab' * 32}.warc.gz"
HOOK = f"echo one > words.txt; mkdir -p ../warc; echo body > ../warc/{BODY}\n"


class StoreOfTest:
    """A collection, and the folder of its store."""

    def __init__(self, made: Collection, folder: Path) -> None:
        self.made, self.folder = made, folder

    def objects(self) -> set[str]:
        """The keys of the pages that are in the store."""
        return {path.relative_to(self.folder).as_posix() for path in self.folder.glob("pages/**/*.*")}

    def type(self, *words: str, **env: str) -> None:
        command = [sys.executable, "-m", "archivebox", *words]
        done = subprocess.run(
            command, env={**self.made.env, **env}, cwd=REPOSITORY, capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    def assert_whole(self, *, pages: int) -> None:
        """Each sealed page has its object, and what a kill has left is deleted after the grace."""
        rows = self.made.rows("StoredObject", "key", "snapshot", stored_at__isnull=False, unused_at=None)
        current = {row["snapshot"]: row["key"] for row in rows if row["snapshot"]}
        sealed = {row["pk"] for row in self.made.rows("Snapshot", "pk", status="sealed")}
        assert (set(current), len(sealed)) == (sealed, pages)
        assert set(current.values()) <= self.objects()
        assert [run["exit_code"] for run in self.made.hooks("words")] == [0] * pages, "no hook ran again"
        self.type("storage", "gc", STORAGE_GRACE="0")
        assert self.objects() == set(current.values())
        self.type("storage", "verify", "--digests")


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[StoreOfTest]:
    folder = tmp_path / "store"
    folder.mkdir()
    with collection(tmp_path / "made", STORAGE_URL=folder.as_uri()) as made:
        made.plugin("words", {"on_Snapshot__57_words.sh": HOOK})
        yield StoreOfTest(made, folder)


@contextmanager
def nothing_written(made: Collection) -> Iterator[None]:
    """No row can be written meanwhile."""
    with closing(sqlite3.connect(made.root / "index.sqlite3", isolation_level=None, timeout=30)) as database:
        database.execute("BEGIN IMMEDIATE")
        yield


def wait_for_reason(made: Collection) -> None:
    made.wait("a store that is away", lambda: made.rows("Snapshot", "pk", reason="store_unavailable"))


def test_a_worker_killed_between_upload_and_seal(stored: StoreOfTest) -> None:
    made, aside = stored.made, stored.folder.with_name("aside")
    stored.folder.rename(aside)
    crawl = made.add(URL)
    made.watch()
    wait_for_reason(made)
    with nothing_written(made):
        aside.rename(stored.folder)
        made.wait("the upload", stored.objects)
        made.kill()
    assert not made.rows("Snapshot", "pk", status="sealed")
    made.run(crawl)
    stored.assert_whole(pages=1)
