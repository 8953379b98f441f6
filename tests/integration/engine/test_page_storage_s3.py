"""Two machines with a server of PostgreSQL, no folder in common, and a bucket (OpenStack Swift) for their pages."""

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.engine.driver import REPOSITORY, Collection, collection
from tests.suite.packages import missing
from tests.suite.postgres import cluster
from tests.suite.swift import SwiftServer, make_bucket, swift_server

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(bool(missing()), reason="needs the programs of PostgreSQL and Swift"),
]
LARGE = 20_000_000
URL = "http://one.test/"


class Fleet:
    """Two machines and their bucket."""

    def __init__(self, here: Collection, elsewhere: Collection, swift: SwiftServer) -> None:
        self.here, self.elsewhere, self.swift = here, elsewhere, swift

    def plugin(self, name: str, hook: str) -> None:
        for machine in (self.here, self.elsewhere):
            machine.plugin(name, {f"on_Snapshot__{50 + len(machine.names)}_{name}.sh": hook})

    def folder_of(self, machine: Collection, page: str) -> Path:
        return machine.root / str(self.here.row("Snapshot", "output_dir", pk=page)["output_dir"])

    def stored(self) -> set[str]:
        """The keys of pages that are current."""
        where = {"stored_at__isnull": False, "unused_at": None, "snapshot__isnull": False}
        return {str(row["key"]) for row in self.here.rows("StoredObject", "key", **where)}

    def type(self, machine: Collection, *words: str) -> str:
        """A command on one machine."""
        command = [sys.executable, "-m", "archivebox", *words]
        done = subprocess.run(
            command, env=machine.env, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def fleet_of_two(base: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    for name in ("here", "elsewhere"):
        (base / name).mkdir()
    with cluster() as server, swift_server() as swift:
        monkeypatch.setenv("DATABASE_URL", server.url)
        for name, value in swift.environment.items():
            monkeypatch.setenv(name, value)
        make_bucket(swift, "pages")
        settings = {
            "STORAGE_URL": swift.url("pages", "one"),
            "ARCHIVEBOX_LEASE_SECONDS": "6",
            "SECRET_KEY": "of no server",
            **swift.environment,
        }
        with collection(base / "here", MACHINE_ID="here", **settings) as here:
            settings |= {"MACHINE_ID": "elsewhere", "DATABASE_URL": here.env["DATABASE_URL"]}
            with collection(base / "elsewhere", **settings) as elsewhere:
                yield Fleet(here, elsewhere, swift)


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    with fleet_of_two(tmp_path, monkeypatch) as both:
        yield both


def test_a_page_of_one_machine_is_exported_by_another(fleet: Fleet) -> None:
    fleet.plugin("words", "echo one > words.txt; ln -s words.txt link\n")
    fleet.here.run(fleet.here.add(URL))
    page = str(fleet.here.row("Snapshot", "pk")["pk"])
    (key,) = fleet.stored()
    shutil.rmtree(fleet.here.root / "users")
    fleet.type(fleet.elsewhere, "export", "--all", "--output", str(fleet.elsewhere.base / "pages.zip"))
    with zipfile.ZipFile(fleet.elsewhere.base / "pages.zip") as exported:
        texts = [exported.read(name) for name in exported.namelist() if name.endswith("words/words.txt")]
    assert texts == [b"one\n"]
    assert (fleet.folder_of(fleet.elsewhere, page) / "words" / "link").is_symlink()
    assert not fleet.folder_of(fleet.here, page).exists()
    fleet.type(fleet.here, "storage", "verify", "--digests")
    fleet.type(fleet.here, "storage", "move", "--to", "disk")
    assert (fleet.folder_of(fleet.here, page) / "words" / "words.txt").read_text() == "one\n"
    assert key.startswith(f"pages/{page}/")


def test_a_worker_killed_while_it_uploads_seals_its_page_once(fleet: Fleet) -> None:
    fleet.plugin("large", f"head -c {LARGE} /dev/urandom > large.bin\n")
    crawl = fleet.here.add(URL)
    with fleet.swift.stalled():
        fleet.here.watch()
        fleet.here.wait("an upload", lambda: fleet.here.rows("StoredObject", "pk", snapshot__isnull=False))
        fleet.here.kill()
    fleet.here.run(crawl)
    (key,) = fleet.stored()
    page = fleet.here.row("Snapshot", "pk", "status", "sealed_at")
    assert page["status"] == "sealed"
    assert [run["exit_code"] for run in fleet.here.hooks("large")] == [0]
    rows = {str(row["key"]) for row in fleet.here.rows("StoredObject", "key")}
    assert key in rows
    fleet.type(fleet.here, "storage", "verify", "--digests")
