"""Once a day a machine deletes what no page has, a folder of the store at a time."""

from hashlib import sha256
from pathlib import Path

import pytest

from archivebox.imports.import_folder import Scratch
from archivebox.jobs.storage_upkeep import StorageUpkeep
from archivebox.machine.periodic import PeriodicTask, repeat_at_once
from archivebox.storage.layout import DataFolder
from archivebox.storage.shared_files import stored_path

pytestmark = pytest.mark.usefixtures("collection")


def unused(collection: DataFolder, count: int) -> list[Path]:
    """Records in the store that no page has, as a kill leaves them."""
    digests = [sha256(str(number).encode()).hexdigest() for number in range(count)]
    paths = [Path(stored_path(str(collection.users / "somebody" / ".shared"), digest)) for digest in digests]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"a record")
    return paths


def steps(upkeep: StorageUpkeep, count: int) -> None:
    for _ in range(count):
        upkeep.begin_if_due()
        upkeep.clean_next_folder()


def test_all_folders_are_looked_through_once_a_day(collection: DataFolder) -> None:
    paths, upkeep = unused(collection, 3), StorageUpkeep()
    steps(upkeep, 1)
    assert sum(path.exists() for path in paths) == 2
    steps(upkeep, 3)
    assert not any(path.exists() for path in paths)
    (late,) = unused(collection, 1)
    steps(upkeep, 3)
    assert late.exists(), "it is not due again today"
    repeat_at_once(PeriodicTask.objects.get(name__startswith="storage_gc:").name)
    steps(StorageUpkeep(), 4)  # empty folders are in any order
    assert not late.exists()


def test_a_folder_that_cannot_be_read_ends_no_worker(collection: DataFolder) -> None:
    (path,) = unused(collection, 1)
    upkeep = StorageUpkeep()
    upkeep.begin_if_due()
    path.unlink()
    path.mkdir()  # neither a record nor to be deleted as one
    upkeep.clean_next_folder()
    assert path.is_dir()


def test_what_a_killed_reader_has_left_is_deleted_once_a_day(collection: DataFolder) -> None:
    left, at_work = collection.imports / "reading-left", Scratch()
    left.mkdir()
    (left / "body").write_text("x")
    upkeep = StorageUpkeep()
    upkeep.begin_if_due()
    assert left.exists(), "the database thread deletes nothing: it may take longer than a lease"
    steps(upkeep, 1)
    assert not left.exists()
    assert at_work.path.is_dir()
