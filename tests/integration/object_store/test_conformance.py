"""Every object store keeps what the interface promises."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from archivebox.lib.cloud_store import DELETED_AT_ONCE, PART
from archivebox.lib.object_store import BLOCK, FolderStore, ObjectMissingError, ObjectStore
from tests.integration.object_store.stores import SIZES, everything, keys, put, some_bytes
from tests.suite.swift import PAGE


@pytest.mark.parametrize("size", SIZES)
def test_a_file_is_read_as_it_was_put(store: ObjectStore, size: int) -> None:
    data = some_bytes(size)
    put(store, "pages/1/a.zip", data)
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
    put(store, "a", b"0123456789")
    assert everything(store, "a", start, stop) == expected.encode()


def test_a_range_over_the_border_of_two_parts_is_read(store: ObjectStore) -> None:
    data = some_bytes(PART + 1_000)
    put(store, "a", data)
    assert everything(store, "a", PART - 10, PART + 10) == data[PART - 10 : PART + 10]


def test_an_object_that_is_not_there_is_named(store: ObjectStore) -> None:
    put(store, "a/b", b"1")
    for missing in ("c", "a/c", "a", "a/b/c"):
        assert store.size_of(missing) is None
        with pytest.raises(ObjectMissingError, match=repr(missing)):
            everything(store, missing)


def test_a_listing_is_in_the_order_of_bytes_and_names_what_begins_with_the_prefix(store: ObjectStore) -> None:
    stored = ["a-b/1", "a/1", "a/z/1", "a0", "b/é", "b/z", "pages/1/x", "pages/10/x", "pages/2/x"]
    for key in reversed(stored):
        put(store, key, key.encode())
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
        put(store, key, b"x")
    store.delete(iter(["a/1", "b", "never/there", "a/1"]))
    assert keys(store) == ["a/2"]
    store.delete([])


def test_more_objects_than_fit_in_one_answer_are_listed_and_deleted(store: ObjectStore) -> None:
    many = 1_001 if isinstance(store, FolderStore) else 2 * PAGE + 1
    assert many > DELETED_AT_ONCE
    stored = [f"a/{number:04}" for number in range(many)]
    with ThreadPoolExecutor(4) as threads:
        for _ in threads.map(lambda key: put(store, key, b""), stored):
            pass
    put(store, "b", b"")
    assert keys(store, "a/") == stored
    store.delete(stored)
    assert keys(store) == ["b"]


@pytest.mark.parametrize(
    "key", ["", "/a", "a/", "a//b", "../a", "a/../b", "a/./b", ".uploads/x", "a\0b", "tab\there", "a" * 256]
)
def test_a_key_that_leads_elsewhere_is_none(store: ObjectStore, key: str) -> None:
    with pytest.raises(ValueError, match="key"):
        put(store, key, b"x")
    with pytest.raises(ValueError, match="key"):
        everything(store, key)
    with pytest.raises(ValueError, match="key"):
        store.delete([key])
    with pytest.raises(ValueError, match="key"):
        store.size_of(key)


def test_keys_may_hold_what_urls_and_shells_take_for_their_own(store: ObjectStore) -> None:
    awkward = ["a b/c+d", "q?x=1&y=2#z", "50%25", "quote'\"<>&", "ä/日本語"]
    for key in awkward:
        put(store, key, key.encode())
    assert keys(store) == sorted(awkward, key=str.encode)
    assert [everything(store, key).decode() for key in awkward] == awkward
    store.delete(awkward)
    assert keys(store) == []


def test_little_of_a_large_object_is_in_memory(store: ObjectStore) -> None:
    size = 6 * PART
    most = 1_000_000 if isinstance(store, FolderStore) else 4 * PART
    store.size_of("a")  # what is imported and connected once
    tracemalloc.start()
    try:
        store.put("a", (bytes(BLOCK) for _ in range(size // BLOCK)), size)
        assert sum(map(len, store.read("a"))) == size
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < most


def test_what_cannot_be_read_to_its_end_leaves_nothing(store: ObjectStore) -> None:
    for size, readable in ((100, 0), (2 * PART, PART + 100)):
        with pytest.raises(OSError, match="Input/output"):
            put(store, "a", bytes(size), unreadable_from=readable)
    assert keys(store) == []
    put(store, "a", b"another time")
    assert everything(store, "a") == b"another time"


def test_a_former_object_stays_while_the_next_is_sent(store: ObjectStore) -> None:
    put(store, "a", b"former")
    data = some_bytes(PART + 100)
    with pytest.raises(OSError, match="Input/output"):
        put(store, "a", data, unreadable_from=PART // 2)
    assert everything(store, "a") == b"former"
