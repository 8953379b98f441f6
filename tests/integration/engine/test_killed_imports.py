"""An import whose processes are all killed in its middle goes on at the next start: each page once, each file whole."""

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from archivebox.jobs.page_imports import ImportPages
from tests.integration.engine.driver import REPOSITORY, Collection
from tests.old_collection import make_old_collection

pytestmark = pytest.mark.database

PAGES = ImportPages.batch + 10
LAST = "1700000000"
HOLE = 64 << 30
"""Bytes of a file that is being read when everything is killed, however slow the test is. It takes no disk."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A few pages with files, many without, and a large one behind the first part."""
    root = make_old_collection(tmp_path / "old")
    rows = [(f"{number:032}", f"https://example.com/{number}", f"16{number:08}") for number in range(PAGES)]
    rows.append(("c" * 32, "https://example.com/last", LAST))
    with closing(sqlite3.connect(root / "index.sqlite3")) as database:
        values = "(?, ?, ?, '', '2023-11-15 00:00:00', NULL)"
        database.executemany(f"INSERT INTO core_snapshot VALUES {values}", rows)
        database.commit()
    folder = root / "archive" / LAST
    folder.mkdir()
    for name in ("htmltotext.txt", "output.html", "singlefile.html"):
        (folder / name).write_text(f"{name} of the last page")
    return root


@pytest.mark.default
def test_an_import_that_was_killed_goes_on_and_imports_nothing_twice(forked: Collection, source: Path) -> None:
    forked.settings["SEARCH_BACKEND_ENGINE"] = ""
    large = source / "archive" / LAST / "singlefile.html"
    content = large.read_bytes()
    os.truncate(large, HOLE)
    import_at_leisure(forked, source)
    forked.watch()
    forked.wait("the first part is done", lambda: forked.row("Job", "position")["position"] == 1)
    forked.wait("the file is being read", lambda: any(forked.root.glob("users/**/singlefile.html")))
    forked.kill()
    assert len(forked.rows("Snapshot", "pk")) == ImportPages.batch
    large.unlink()
    large.write_bytes(content)

    forked.watch()
    forked.wait("the import is done", lambda: forked.row("Job", "status")["status"] == "sealed")
    forked.leave()
    job = forked.row("Job", "total", "done", "failed", "problem")
    assert job | {"pk": None} == {"pk": None, "total": PAGES + 3, "done": PAGES + 3, "failed": 0, "problem": ""}
    assert len({row["url"] for row in forked.rows("Snapshot", "url")}) == PAGES + 2, "two are of one URL"
    assert len(forked.rows("Snapshot", "url")) == PAGES + 3
    assert content_below(forked.root / "users") == content_below(source / "archive")


def import_at_leisure(made: Collection, source: Path) -> None:
    command = [sys.executable, "-m", "archivebox", "import", str(source), "--mode=link", "--yes", "--bg"]
    done = subprocess.run(command, cwd=REPOSITORY, env=made.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def content_below(folder: Path) -> Counter[str]:
    """How often which content is there, but for hashes, which only the collection has."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return Counter(sha256(path.read_bytes()).hexdigest() for path in files if path.parent.name != "hashes")
