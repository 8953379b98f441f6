"""A restored collection is what was backed up, to the byte; damage is told; nothing that is there is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from archivebox.backup.copying import digest_of
from archivebox.backup.manifest import MANIFEST, BackupEntry, EntryKind, ManifestError, ManifestWriter, read_summary
from archivebox.backup.restore import BackupVerdict, RestoreError, restore
from archivebox.config.collection import CollectionError, is_collection, refuse_others
from archivebox.storage.layout import DataFolder
from tests.integration.backup.conftest import Kept

pytestmark = pytest.mark.once  # the database that is copied is a file

CHECKOUT = Path(__file__).parents[3]
STOPS = """
import sys, time
from pathlib import Path
from archivebox.backup.destination import Destination
from archivebox.backup.restore import restore
from archivebox.storage.layout import DataFolder
def stop(report, summary):
    if report.files == 8:
        print(flush=True)
        time.sleep(600)
restore(Destination(Path(sys.argv[1])).find(None), DataFolder(Path(sys.argv[2])), stop)
"""
"""Restores the newest backup, says when eight files are there, and stays so."""
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


def restored(kept: Kept, new: DataFolder) -> BackupVerdict:
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


def test_an_interrupted_restore_is_continued(kept: Kept, new: DataFolder) -> None:
    for number in range(20):
        kept.write(f"users/x/files/{number:02}", str(number))
    (kept.folder.root / "users/x/link").symlink_to("nowhere")
    kept.back_up()
    command = [sys.executable, "-c", STOPS, str(kept.destination.folder), str(new.root)]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline(), "it has come so far"
        with pytest.raises(RestoreError, match="is running"):
            restored(kept, new)
        process.kill()
    assert (new.root / "users/x/files/04").read_text() == "4"
    assert not is_collection(new)
    with pytest.raises(CollectionError, match="continues"):
        refuse_others(new)
    (new.root / "users/x/files/04").write_text("half")
    restored_before = (new.root / "users/x/files/03").stat().st_ino

    assert restored(kept, new).is_whole
    assert content(new.root) == content(kept.folder.root)
    assert (new.root / "users/x/files/03").stat().st_ino == restored_before
    refuse_others(new)


def test_a_restore_of_another_backup_does_not_continue_an_interrupted_one(kept: Kept, new: DataFolder) -> None:
    kept.back_up()
    first = kept.newest
    kept.back_up()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restore(first, new, interrupt)
    with pytest.raises(RestoreError, match=f"another backup .{first.name}"):
        restored(kept, new)
    assert restore(first, new).is_whole


@pytest.mark.parametrize("path", ["data/../../out", "/out", "data/users/../../../out"])
def test_a_manifest_that_leads_out_of_the_folder_is_refused(kept: Kept, new: DataFolder, path: str) -> None:
    kept.back_up()
    summary = read_summary(kept.newest)
    (kept.newest / MANIFEST).unlink()
    writer = ManifestWriter(kept.newest)
    writer.add(
        BackupEntry(EntryKind.DATABASE, "data/index.sqlite3", sha256=digest_of(str(kept.data / "index.sqlite3")))
    )
    writer.add(BackupEntry(EntryKind.FILE, path))
    writer.finish(summary)
    with pytest.raises(ManifestError):
        restored(kept, new)
    assert not (new.root.parent / "out").exists()


def test_only_an_empty_folder_is_taken(kept: Kept, new: DataFolder) -> None:
    kept.back_up()
    new.root.mkdir()
    restored(kept, new)
    for root, reason in ((new.root, "not empty"), (kept.newest / "new", "folder of the backups"),
                         (new.root / "no/where", "mounted")):  # fmt: skip
        with pytest.raises(RestoreError, match=reason):
            restored(kept, DataFolder(root))


def test_damaged_files_are_told_and_a_damaged_database_is_not_put_there(kept: Kept, new: DataFolder) -> None:
    kept.back_up()
    (kept.data / PAGE).write_text("Tit1e")
    (kept.data / "ArchiveBox.conf").unlink()
    report = restored(kept, new)
    assert (report.changed, report.missing) == ([f"data/{PAGE}"], ["data/ArchiveBox.conf"])

    with (kept.data / "index.sqlite3").open("r+b") as file:
        file.seek(2000)
        file.write(b"x")
    other = DataFolder(new.root.with_name("other"))
    with pytest.raises(RestoreError, match="was changed"):
        restored(kept, other)
    (kept.data / "index.sqlite3").unlink()
    with pytest.raises(RestoreError, match="cannot be read"):
        restored(kept, other)
    assert not other.root.exists()


def test_a_damaged_manifest_is_refused(kept: Kept, new: DataFolder) -> None:
    kept.back_up()
    path = kept.newest / MANIFEST
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
