"""A restored collection is what was backed up, to the byte; damage is told; nothing that is there is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from archivebox.backup.manifest import MANIFEST, ManifestError
from archivebox.backup.restoring import RestoreError, RestoreReport, restore
from archivebox.config.collection import is_collection
from archivebox.storage.layout import DataFolder
from tests.integration.backup.conftest import Kept

pytestmark = pytest.mark.once  # the database that is copied is a file

PAGE = "users/x/snapshots/20261126/one.test/page/title/title.txt"


@pytest.fixture
def new(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "new")


def content(root: Path) -> dict[str, tuple[int, float, bytes]]:
    """Mode, time and bytes of each file that is backed up, but for the database."""
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and "index.sqlite3" not in path.name)
    return {
        str(path.relative_to(root)): (path.stat().st_mode, path.stat().st_mtime, path.read_bytes())
        for path in files
        if path.relative_to(root).parts[0] != "run"
    }


def restored(kept: Kept, new: DataFolder) -> RestoreReport:
    return restore(kept.newest, new)


def test_files_come_back_with_their_modes_and_times(kept: Kept, new: DataFolder) -> None:
    kept.write(os.fsdecode(b"users/x/\xff.txt")).chmod(0o644)
    (kept.folder.root / "users/x/link").symlink_to("nowhere")
    kept.back_up()
    report = restored(kept, new)
    assert report.is_whole
    assert content(new.root) == content(kept.folder.root)
    assert (new.keys / "signing.key").stat().st_mode & 0o777 == 0o600
    assert str((new.root / "users/x/link").readlink()) == "nowhere"
    assert new.database.stat().st_mode & 0o777 == 0o600
    assert is_collection(new)


def test_only_an_empty_folder_is_taken(kept: Kept, new: DataFolder) -> None:
    kept.back_up()
    new.root.mkdir()
    restored(kept, new)
    for root, reason in ((new.root, "not empty"), (kept.newest.folder / "new", "folder of the backups"),
                         (new.root / "no/where", "mounted")):  # fmt: skip
        with pytest.raises(RestoreError, match=reason):
            restored(kept, DataFolder(root))


def test_damaged_files_are_told_and_a_damaged_database_is_not_put_there(kept: Kept, new: DataFolder) -> None:
    kept.back_up()
    (kept.newest.data / PAGE).write_text("Tit1e")
    (kept.newest.data / "ArchiveBox.conf").unlink()
    report = restored(kept, new)
    assert (report.damaged, report.missing) == ([f"data/{PAGE}"], ["data/ArchiveBox.conf"])

    with (kept.newest.data / "index.sqlite3").open("r+b") as file:
        file.seek(2000)
        file.write(b"x")
    other = DataFolder(new.root.with_name("other"))
    with pytest.raises(RestoreError, match="was changed"):
        restored(kept, other)
    assert not is_collection(other)


def test_a_damaged_manifest_is_refused(kept: Kept, new: DataFolder) -> None:
    kept.back_up()
    path = kept.newest.folder / MANIFEST
    path.write_bytes(path.read_bytes().replace(b"signing.key", b"sign1ng.key"))
    with pytest.raises(ManifestError):
        restored(kept, new)
    assert not new.root.exists()


def test_a_copy_of_sqlite_is_not_restored_beside_another_database(
    kept: Kept, new: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.back_up()
    monkeypatch.setenv("DATABASE_URL", "postgres://nobody@127.0.0.1:9/none")
    with pytest.raises(RestoreError, match="unset DATABASE_URL"):
        restored(kept, new)
