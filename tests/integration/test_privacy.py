"""Another user of the machine reads nothing of a collection, unless OUTPUT_PERMISSIONS opens what is archived."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from archivebox.config.privacy import keep_private
from archivebox.storage.layout import DataFolder
from tests.webserver.server import CHECKOUT, environment

HOOK = "#!/bin/sh\necho said\nmkdir deep\necho kept > deep/page.html\n"


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    """Children inherit ours; under pytest it may be anybody's."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def archive(folder: Path, **settings: str) -> None:
    """Archive one page by a tiny hook, as a person does at a terminal."""
    hook = folder / "plugins" / "tiny" / "on_Snapshot__50_tiny.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text(HOOK)
    hook.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "archivebox", "add", "--plugins=tiny", "http://127.0.0.1:9/"],
        env=environment(folder, **settings), check=False, capture_output=True, text=True, timeout=120, cwd=CHECKOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def opened(folder: Path) -> set[str]:
    """Whatever another user could read if nothing above it kept him out."""
    kept = (path for path in folder.rglob("*") if "plugins" not in path.parts[len(folder.parts) :][:1])
    return {str(path.relative_to(folder)) for path in kept if path.lstat().st_mode & 0o077}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.database
def test_what_every_process_of_ours_makes_is_its_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    archive(folder)
    assert mode(folder) == 0o700
    assert [path.read_text() for path in folder.glob("users/**/deep/page.html")] == ["kept\n"]
    assert opened(folder) == set()


@pytest.mark.database
def test_outputs_are_opened_on_request_and_nothing_else_is(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    archive(folder, OUTPUT_PERMISSIONS="644")
    (page,) = folder.glob("users/**/deep/page.html")
    assert mode(page) == 0o644
    above = [path for path in page.parents if path.is_relative_to(folder / "users")]
    assert {mode(path) for path in above} == {0o755}
    assert mode(folder) == 0o711, "others pass through it, and list nothing"
    reached = {path.name for path in folder.iterdir() if mode(path) & 0o077}
    assert reached == {"users"}
    assert {mode(path) for path in folder.glob("users/**/.hooks")} == {0o700}


def older(folder: Path) -> DataFolder:
    """A collection as it was made before: everything to be read by everybody."""
    (folder / "users" / "system").mkdir(parents=True)
    (folder / "index.sqlite3").write_text("rows")
    for path in (folder, folder / "users", folder / "index.sqlite3"):
        path.chmod(0o755)
    return DataFolder(folder)


def test_an_older_collection_is_closed_at_its_next_start(tmp_path: Path) -> None:
    data = older(tmp_path / "data")
    keep_private(data)
    assert mode(data.root) == 0o700


def test_an_older_collection_whose_outputs_are_opened_keeps_its_rows_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = older(tmp_path / "data")
    monkeypatch.setenv("OUTPUT_PERMISSIONS", "640")
    keep_private(data)
    assert (mode(data.root), mode(data.users), mode(data.database)) == (0o710, 0o750, 0o700)
    monkeypatch.delenv("OUTPUT_PERMISSIONS")
    keep_private(data)
    assert mode(data.root) == 0o700
