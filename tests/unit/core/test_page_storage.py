"""Pages in an object store: stored, fetched, replaced, evicted, deleted and moved."""

import os
import shutil
import socket
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier
from uuid import UUID, uuid4

import pytest
from django.db import connections
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from archivebox.config import page_storage
from archivebox.config.page_storage import forget_store, store_at
from archivebox.core.models import Snapshot, StoredObject
from archivebox.core.page_storage import folder as page_folder
from archivebox.core.page_storage.folder import evict, expect_changes, local_folder, note_path
from archivebox.core.page_storage.maintenance import (
    MoveReport,
    StoreGarbage,
    check_store,
    collect_unknown,
    collect_unused,
    collect_uploads,
    copy_objects,
    fetch_all,
    store_all,
)
from archivebox.core.page_storage.uploading import (
    begin_upload,
    disown,
    store_page,
)
from archivebox.lib.object_store import (
    FolderStore,
    ObjectStoreError,
    RequestLimits,
    StoreRefusedError,
    StoreUnavailableError,
)
from archivebox.replay.files import NotThereError
from archivebox.replay.folders import open_page_file
from archivebox.storage.layout import DataFolder
from tests.stored_pages import BODY, sealed, stored

pytestmark = pytest.mark.django_db(transaction=True)
DAY = timedelta(days=1)


def objects(store: Path) -> list[str]:
    """The keys of pages."""
    found = store.glob("pages/**/*.*")
    return sorted(path.relative_to(store).as_posix() for path in found if path.is_file())


def keys() -> list[str]:
    return sorted(StoredObject.objects.exclude(key__startswith="collection/").values_list("key", flat=True))


def collect() -> StoreGarbage:
    report = StoreGarbage()
    time.sleep(0.002)  # no grace is over before the clock has ticked
    collect_unused(report)
    collect_uploads(report)
    return report


@pytest.mark.database
@pytest.mark.usefixtures("store")
def test_machines_that_store_their_first_pages_at_once_mark_the_store_once() -> None:
    pages = [sealed(f"https://example.com/{number}") for number in range(4)]
    barrier = Barrier(len(pages))

    def begin(page: Snapshot) -> UUID:
        barrier.wait()
        try:
            return begin_upload(page.pk).collection.pk
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(pages)) as pool:
        assert len(set(pool.map(begin, pages))) == 1


def test_a_page_that_is_not_here_is_fetched(store: Path) -> None:
    first, second = stored(), stored("https://example.com/2")
    assert objects(store) == keys()
    assert len(keys()) == 2
    for key in keys():
        with zipfile.ZipFile(store / key) as archive:
            assert archive.read(f"warc/{BODY}") == b"a body", "a page in the store is whole"
    for page in (first, second):
        shutil.rmtree(page.path)
    shutil.rmtree(first.path.parents[3] / ".shared")

    folder = local_folder(first)
    assert (folder / "text" / "words.txt").read_text() == "one"
    assert (folder / "text" / "words.txt").stat().st_mode & 0o777 == 0o640
    assert (folder / "text" / "link").readlink() == Path("words.txt")
    assert (folder / "empty").is_dir()
    assert (folder / "warc" / BODY).samefile(local_folder(second) / "warc" / BODY), "here they share it again"


def test_one_file_of_a_page_that_is_not_here_is_fetched_alone(store: Path) -> None:
    page = stored(words="the words")
    shutil.rmtree(page.path)
    note_path(page.pk).unlink()
    assert read(page, "text", "words.txt") == b"the words"
    assert read(page, "warc", BODY) == b"a body"
    for names in (("text", "link"), ("text", "none.txt"), ("text",), ("empty",)):
        with pytest.raises(NotThereError):
            open_page_file(page, names)
    assert not page.path.exists()
    (object_of_page,) = store.glob("pages/*/*.zip")
    object_of_page.write_bytes(object_of_page.read_bytes().replace(b"the words", b"her words"))
    with pytest.raises(ObjectStoreError, match="damaged"):
        open_page_file(page, ("text", "words.txt"))


def read(page: Snapshot, *names: str) -> bytes:
    opened = open_page_file(page, names)
    with os.fdopen(opened.descriptor, "rb") as file:
        data = file.read()
    assert opened.size == len(data)
    return data


def test_a_web_server_gives_a_silent_store_up_after_seconds(
    collection: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert collection.root.is_dir()
    monkeypatch.setattr(page_storage, "FOR_PEOPLE", RequestLimits(connect=0.2, answer=0.2, attempts=1))
    monkeypatch.setattr(page_storage, "_limits", None)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "one")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("STORAGE_URL", f"s3://pages?endpoint=http://127.0.0.1:{silent.getsockname()[1]}")
        forget_store()
        page_storage.answer_soon()
        with pytest.raises(StoreUnavailableError):
            page_storage.object_store().size_of("pages/one.zip")
    monkeypatch.undo()
    forget_store()


def test_without_a_store_nothing_is_asked(
    collection: DataFolder, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    page = sealed()
    with django_assert_num_queries(0):
        assert local_folder(page) == page.path
        expect_changes(page)
    assert not collection.page_copies.exists()


def test_a_copy_that_is_older_than_its_page_is_replaced(store: Path) -> None:
    page = stored()
    note = note_path(page.pk).read_bytes()
    (page.path / "text" / "words.txt").write_text("two")
    store_page(page.pk, page.path)
    (page.path / "text" / "words.txt").write_text("one")
    note_path(page.pk).write_bytes(note)  # as on a machine that has the former one
    assert (local_folder(page) / "text" / "words.txt").read_text() == "two"
    assert StoredObject.objects.filter(snapshot=page.pk, unused_at=None).count() == 1
    collect()
    assert objects(store) == keys()
    assert len(keys()) == 1


@pytest.mark.parametrize("away", [True, False])
def test_a_fetch_that_fails_leaves_nothing(store: Path, *, away: bool) -> None:
    page = stored()
    shutil.rmtree(page.path)
    (key,) = StoredObject.objects.filter(snapshot=page.pk).values_list("key", flat=True)
    if away:
        store.rename(store.with_name("aside"))
    else:
        (store / key).write_bytes((store / key).read_bytes().replace(b"one", b"two"))
    with pytest.raises(ObjectStoreError):
        local_folder(page)
    assert not page.path.exists()


def test_the_longest_unused_copies_are_deleted(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del store
    monkeypatch.setattr(page_folder, "IN_USE", 0.5)
    pages = [stored(f"https://example.com/{number}") for number in range(4)]
    unstored = sealed("https://example.com/unstored")
    expect_changes(pages[0])
    for page in pages[1:]:
        os.utime(note_path(page.pk), (0, time.time() - 100 + page.pk.int % 2))
    os.utime(note_path(pages[2].pk), (0, 0))
    size = page_folder.read_note(pages[1].pk).size  # type: ignore[union-attr]  # it has one
    assert evict(2 * size) == size
    assert [page.path.is_dir() for page in pages] == [True, True, False, True]
    evict(0)
    assert [page.path.is_dir() for page in [*pages, unstored]] == [True, False, False, False, True]
    assert (local_folder(pages[2]) / "text" / "words.txt").read_text() == "one"
    os.utime(note_path(pages[2].pk))
    evict(0)
    assert pages[2].path.is_dir(), "used a moment ago"


def test_objects_of_deleted_pages_go_and_others_stay(store: Path) -> None:
    first, second = stored(), stored("https://example.com/2")
    disown([first.pk])
    collect()
    assert [key.split("/")[1] for key in objects(store)] == [str(second.pk)]
    assert objects(store) == keys()
    disown([second.pk])
    collect()
    assert objects(store) == keys() == []


def test_uploads_that_nobody_continues_are_deleted(store: Path) -> None:
    page = sealed()
    begin_upload(page.pk)
    assert (len(keys()), objects(store)) == (1, [])
    assert collect().uploads == 1
    assert keys() == []


def test_objects_without_a_row_are_deleted_where_the_store_is_ours(store: Path) -> None:
    collect_unknown(StoreGarbage())  # nothing was stored yet
    stored()
    before = objects(store)
    (store / "pages" / "other").mkdir()
    (store / "pages" / "other" / "1.zip").write_bytes(b"")
    long_ago = (timezone.now() - DAY).timestamp()
    os.utime(store / "pages" / "other" / "1.zip", (long_ago, long_ago))
    (store / "collection" / "other").write_bytes(b"")
    with pytest.raises(StoreRefusedError, match="of another or an unknown collection"):
        collect_unknown(StoreGarbage())
    (store / "collection" / "other").unlink()
    report = StoreGarbage()
    collect_unknown(report)
    assert (report.unknown, objects(store)) == (1, before)


def test_pages_move_into_the_store_to_another_one_and_back(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [sealed(f"https://example.com/{number}") for number in range(3)]
    report = MoveReport()
    store_all(report)
    assert (report.copied, report.known, report.failed) == (3, 0, [])
    again = MoveReport()
    store_all(again)
    assert (again.copied, again.known) == (0, 3)

    other = tmp_path / "other"
    other.mkdir()
    asked: list[str] = []
    monkeypatch.setattr(FolderStore, "size_of", lambda _, key: asked.append(key))
    for copied, known in ((3, 0), (0, 3)):
        report = MoveReport()
        copy_objects(store_at(other.as_uri()), report)
        assert (report.copied, report.known, asked) == (copied, known, []), "its listing says what is there"
    one = other / keys()[0]
    one.write_bytes(b"cut")
    report = MoveReport()
    copy_objects(store_at(other.as_uri()), report)
    assert (report.copied, report.known) == (1, 2)
    assert one.read_bytes() == (store / keys()[0]).read_bytes()
    assert objects(other) == objects(store)

    shutil.rmtree(pages[0].path)
    report = MoveReport()
    fetch_all(report)
    assert (report.copied, report.known) == (1, 2)


def test_what_is_damaged_in_the_store_is_found(store: Path) -> None:
    page, other = stored(), stored("https://example.com/2")
    assert (check_store(digests=True).same, check_store(digests=False).same) == (2, 2)
    (key,) = StoredObject.objects.filter(snapshot=page.pk).values_list("key", flat=True)
    (store / key).write_bytes((store / key).read_bytes().replace(b"one", b"two"))
    assert check_store(digests=False).problems == []
    assert check_store(digests=True).problems == [f"{key} (page {page.pk}): changed"]
    (key,) = StoredObject.objects.filter(snapshot=other.pk).values_list("key", flat=True)
    (store / key).unlink()
    assert check_store(digests=False).problems == [f"{key} (page {other.pk}): missing"]


def test_the_object_of_another_page_is_not_taken_for_the_one_that_was_stored(store: Path) -> None:
    """As large, and with checksums that are right."""
    page, other = stored(), stored("https://example.com/2", words="two")
    key, its = (StoredObject.objects.get(snapshot=each.pk).key for each in (page, other))
    assert (store / key).stat().st_size == (store / its).stat().st_size
    shutil.copy(store / its, store / key)
    shutil.rmtree(page.path)
    with pytest.raises(ObjectStoreError, match="was replaced"):
        local_folder(page)
    assert not page.path.exists()


def test_a_store_is_verified_by_its_listing(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("a", "B", "b", "\u00e9", "\U0001f600", "z")  # in the order of bytes, which is not that of most collations
    for number in range(12):
        page = stored(f"https://example.com/{number}")
    for name in names:
        key = f"pages/{name}/1.zip"
        (store / key).parent.mkdir(parents=True)
        (store / key).write_bytes(b"page")
        StoredObject.objects.create(key=key, size=4, snapshot=uuid4(), stored_at=timezone.now())
    begin_upload(page.pk)  # in no store yet
    asked: list[str] = []
    monkeypatch.setattr(FolderStore, "size_of", lambda _, key: asked.append(key))
    verdict = check_store(digests=False)
    assert (verdict.same, verdict.problems, asked) == (12 + len(names), [], [])


def test_an_object_that_no_row_names_is_found(store: Path) -> None:
    page = stored()
    unknown = store / "pages" / str(page.pk) / "1.zip"
    unknown.write_bytes(b"")
    (problem,) = check_store(digests=False).problems
    assert (f"pages/{page.pk}/1.zip: " in problem, "has no row" in problem) == (True, True)


@pytest.mark.usefixtures("store")
def test_what_a_kill_has_left_of_a_fetch_is_replaced() -> None:
    page = stored()
    left = page.path.with_name(f".{page.path.name}.fetched")
    page.path.rename(left)  # with its body linked, and not in its place
    (left / "text" / "words.txt").write_text("on")
    folder = local_folder(page)
    assert (folder / "text" / "words.txt").read_text() == "one"
    assert (folder / "warc" / BODY).stat().st_nlink == 2, "in the page, and in the folder of its owner"
    assert not left.exists()
