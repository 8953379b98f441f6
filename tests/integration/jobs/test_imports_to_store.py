"""With STORAGE_URL, imported pages are stored like captured ones: while they are imported, or later."""

import os
import shutil
import time
from pathlib import Path

import pytest

from archivebox.base_models.rows import new_id
from archivebox.base_models.users import system_user
from archivebox.core.models import Snapshot, StoredObject
from archivebox.core.page_storage.folder import local_folder, note_path, read_note
from archivebox.core.page_storage.uploading import (
    ABANDONED,
    begin_upload,
    mark_unstored,
    store_marked,
)
from archivebox.imports.readers import open_reader
from archivebox.jobs.inspecting import begin_import
from archivebox.jobs.models import Job
from archivebox.jobs.page_imports import NOT_STORED
from archivebox.jobs.storage_upkeep import StoreUpkeep
from tests.job_runner import carried_out
from tests.old_collection import make_old_collection

pytestmark = pytest.mark.django_db(transaction=True)


def imported(folder: Path) -> Job:
    source = make_old_collection(folder)
    return carried_out(begin_import(source, open_reader(source).report(), system_user()))


def stored() -> set[object]:
    return set(StoredObject.objects.current().values_list("snapshot", flat=True))


def pages() -> set[object]:
    return set(Snapshot.objects.values_list("pk", flat=True))


def test_an_import_stores_its_pages(store: Path, tmp_path: Path) -> None:
    job = imported(tmp_path / "old")
    assert (job.done, job.failed, job.memory["note"], stored() == pages()) == (2, 0, "", True)
    for page in Snapshot.objects.all():
        note = read_note(page.pk)
        assert note is not None
        assert not note.changed, "the copy may be deleted"
        shutil.rmtree(page.path)
        assert (local_folder(page) / "singlefile" / "singlefile.html").is_file()
    assert len(list(store.glob("pages/*/*.zip"))) == 2


def test_an_import_goes_on_without_a_store_and_is_stored_later(store: Path, tmp_path: Path) -> None:
    store.rename(store.with_name("aside"))
    job = imported(tmp_path / "old")
    assert (job.done, job.failed, job.memory["note"], stored()) == (2, 0, NOT_STORED, set())
    StoreUpkeep().run_if_due()
    assert stored() == set()
    store.with_name("aside").rename(store)
    page = Snapshot.objects.all()[0]
    begin_upload(page.pk)  # and killed
    assert (store_marked(lambda: True), stored() == pages()) == (2, True)
    assert store_marked(lambda: True) == 0


def test_the_upkeep_stores_what_an_import_could_not_and_stops_when_told(store: Path, tmp_path: Path) -> None:
    store.rename(store.with_name("aside"))
    imported(tmp_path / "old")
    store.with_name("aside").rename(store)
    assert (store_marked(lambda: False), stored()) == (0, set())
    first, second = Snapshot.objects.all()
    shutil.rmtree(first.path)  # it cannot be read
    StoreUpkeep().run_if_due()
    assert stored() == {second.pk}


@pytest.mark.usefixtures("store")
def test_a_mark_that_a_killed_import_has_left_goes_after_a_day() -> None:
    new, old = new_id(), new_id()
    mark_unstored([new, old])
    long_ago = time.time() - ABANDONED.total_seconds() - 1
    os.utime(note_path(old), (long_ago, long_ago))
    assert store_marked(lambda: True) == 0
    assert (note_path(new).exists(), note_path(old).exists()) == (True, False)
