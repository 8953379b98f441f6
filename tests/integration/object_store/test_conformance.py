"""Every object store keeps what the interface promises."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from archivebox.lib.object_store import (
    ObjectMissingError,
    ObjectStore,
    UploadMissingError,
    is_sent_at_once,
)
from archivebox.lib.object_store.folder import FolderStore
from archivebox.lib.object_store.interface import PART
from archivebox.lib.object_store.s3 import DELETED_AT_ONCE
from tests.integration.object_store.stores import SIZES, UnreadableFile, everything, file_of, keys, some_bytes
from tests.suite.swift import PAGE


@pytest.mark.parametrize("size", SIZES)
def test_a_file_is_read_as_it_was_put(store: ObjectStore, size: int) -> None:
    data = some_bytes(size)
    store.put_file("pages/1/a.zip", file_of(data), size)
    assert store.size_of("pages/1/a.zip") == size
    assert everything(store, "pages/1/a.zip") == data
    assert keys(store) == ["pages/1/a.zip"]


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        (0, None, "0123456789"), (3, 7, "3456"), (9, None, "9"), (8, 100, "89"), (10, None, ""), (99, 120, ""),
        (4, 4, ""),
    ],
)  # fmt: skip
def test_a_range_is_what_lies_in_it(store: ObjectStore, start: int, stop: int | None, expected: str) -> None:
    store.put_bytes("a", b"0123456789")
    assert everything(store, "a", start, stop) == expected.encode()


def test_a_range_over_the_border_of_two_parts_is_read(store: ObjectStore) -> None:
    data = some_bytes(PART + 1_000)
    store.put_file("a", file_of(data), len(data))
    assert everything(store, "a", PART - 10, PART + 10) == data[PART - 10 : PART + 10]


def test_an_object_that_is_not_there_is_named(store: ObjectStore) -> None:
    store.put_bytes("a/b", b"1")
    for missing in ("c", "a/c", "a", "a/b/c"):
        assert store.size_of(missing) is None
        with pytest.raises(ObjectMissingError, match=repr(missing)):
            everything(store, missing)


def test_a_listing_is_in_the_order_of_bytes_and_names_what_begins_with_the_prefix(store: ObjectStore) -> None:
    stored = ["a-b/1", "a/1", "a/z/1", "a0", "b/é", "b/z", "pages/1/x", "pages/10/x", "pages/2/x"]
    for key in reversed(stored):
        store.put_bytes(key, key.encode())
    assert keys(store) == sorted(stored, key=str.encode)
    assert keys(store, "pages/1") == ["pages/1/x", "pages/10/x"]
    assert keys(store, "pages/1/") == ["pages/1/x"]
    assert keys(store, "a/z/1") == ["a/z/1"]
    assert keys(store, "nothing") == []
    first = next(iter(store.list("b/é")))
    assert (first.key, first.size) == ("b/é", 4)
    assert abs(datetime.now(UTC) - first.modified) < timedelta(hours=1)


def test_what_is_deleted_is_gone_and_what_is_not_there_is_passed_over(store: ObjectStore) -> None:
    for key in ("a/1", "a/2", "b"):
        store.put_bytes(key, b"x")
    store.delete(iter(["a/1", "b", "never/there", "a/1"]))
    assert keys(store) == ["a/2"]
    store.delete([])


def test_more_objects_than_fit_in_one_answer_are_listed_and_deleted(store: ObjectStore) -> None:
    many = 1_001 if isinstance(store, FolderStore) else 2 * PAGE + 1
    assert many > DELETED_AT_ONCE
    stored = [f"a/{number:04}" for number in range(many)]
    with ThreadPoolExecutor(4) as threads:
        for _ in threads.map(lambda key: store.put_bytes(key, b""), stored):
            pass
    store.put_bytes("b", b"")
    assert keys(store, "a/") == stored
    store.delete(stored)
    assert keys(store) == ["b"]


@pytest.mark.parametrize("key", ["", "/a", "a/", "a//b", "../a", "a/../b", "a/./b", ".uploads/x", "a\0b", "a" * 256])
def test_a_key_that_leads_elsewhere_is_none(store: ObjectStore, key: str) -> None:
    with pytest.raises(ValueError, match="key"):
        store.put_bytes(key, b"x")
    with pytest.raises(ValueError, match="key"):
        everything(store, key)
    with pytest.raises(ValueError, match="key"):
        store.delete([key])
    with pytest.raises(ValueError, match="key"):
        store.size_of(key)


def test_keys_may_hold_what_urls_and_shells_take_for_their_own(store: ObjectStore) -> None:
    awkward = ["a b/c+d", "q?x=1&y=2#z", "50%25", "quote'\"<>&", "ä/日本語", "tab\there"]
    for key in awkward:
        store.put_bytes(key, key.encode())
    assert keys(store) == sorted(awkward, key=str.encode)
    assert [everything(store, key).decode() for key in awkward] == awkward
    store.delete(awkward)
    assert keys(store) == []


def test_an_upload_is_known_until_it_is_completed_or_aborted(store: ObjectStore) -> None:
    first, second = store.begin_upload("pages/1/a"), store.begin_upload("shared/b")
    assert [(each.key, each.upload) for each in store.uploads("pages/")] == [("pages/1/a", first)]
    begun = {each.upload: each.begun for each in store.uploads("")}
    assert begun.keys() == {first, second}
    assert abs(datetime.now(UTC) - begun[first]) < timedelta(hours=1)
    assert keys(store) == []
    store.abort_upload("shared/b", second)
    store.abort_upload("shared/b", second)
    data = some_bytes(PART + 10)
    store.put_file("pages/1/a", file_of(data), len(data), first)
    assert list(store.uploads("")) == []
    assert everything(store, "pages/1/a") == data


def test_a_small_file_may_be_sent_under_an_upload_too(store: ObjectStore) -> None:
    for size in (0, 10):
        assert is_sent_at_once(size)
        upload = store.begin_upload(f"a{size}")
        store.put_file(f"a{size}", file_of(bytes(size)), size, upload)
        assert everything(store, f"a{size}") == bytes(size)
    assert list(store.uploads("")) == []


def test_an_upload_that_failed_in_the_middle_is_continued(store: ObjectStore) -> None:
    data = some_bytes(2 * PART + 10)
    upload = store.begin_upload("a")
    with pytest.raises(OSError, match="Input/output"):
        store.put_file("a", UnreadableFile(data, PART + 1_000_000), len(data), upload)
    assert store.size_of("a") is None
    store.put_file("a", file_of(data), len(data), upload)
    assert everything(store, "a") == data


def test_parts_of_a_source_that_changed_in_between_are_sent_again(store: ObjectStore) -> None:
    data = some_bytes(2 * PART + 10)
    upload = store.begin_upload("a")
    with pytest.raises(OSError, match="Input/output"):
        store.put_file("a", UnreadableFile(data, 2 * PART), len(data), upload)
    changed = data[:5] + b"changed" + data[12:]
    store.put_file("a", file_of(changed), len(changed), upload)
    assert everything(store, "a") == changed


def test_little_of_a_large_object_is_in_memory(store: ObjectStore) -> None:
    size = 2 * PART + 1_000_000
    data = file_of(bytes(size))
    store.size_of("a")  # what is imported and connected once
    tracemalloc.start()
    try:
        store.put_file("a", data, size)
        assert sum(map(len, store.read("a"))) == size
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < PART


def test_completing_an_upload_twice_is_harmless(store: ObjectStore) -> None:
    data = some_bytes(PART + 10)
    upload = store.begin_upload("a")
    store.put_file("a", file_of(data), len(data), upload)
    store.put_file("a", file_of(data), len(data), upload)
    assert everything(store, "a") == data
    with pytest.raises(UploadMissingError):
        store.put_file("a", file_of(data[::-1]), len(data), upload)
    assert everything(store, "a") == data
    assert list(store.uploads("")) == []


def test_an_aborted_upload_is_missing(store: ObjectStore) -> None:
    upload = store.begin_upload("a")
    store.abort_upload("a", upload)
    with pytest.raises(UploadMissingError):
        store.put_file("a", file_of(bytes(PART + 1)), PART + 1, upload)
    assert store.size_of("a") is None


def test_a_source_that_ends_too_early_leaves_nothing(store: ObjectStore) -> None:
    for size in (100, PART + 100):
        with pytest.raises(EOFError):
            store.put_file("a", file_of(bytes(size - 1)), size)
    assert keys(store) == []
    assert list(store.uploads("")) == []


def test_a_former_object_stays_while_the_next_is_sent(store: ObjectStore) -> None:
    store.put_bytes("a", b"former")
    data = some_bytes(PART + 100)
    with pytest.raises(OSError, match="Input/output"):
        store.put_file("a", UnreadableFile(data, PART), len(data))
    assert everything(store, "a") == b"former"
