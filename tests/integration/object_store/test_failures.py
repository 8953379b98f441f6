"""What a store does that fails in the middle: a real server that is away, stalled, restarted, or refuses."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from archivebox.lib.cloud_store import PART
from archivebox.lib.object_store import (
    FolderStore,
    ObjectChangedError,
    ObjectStore,
    RequestLimits,
    StoreRefusedError,
    StoreUnavailableError,
    open_store,
)
from tests.integration.object_store.relay import BreakingRelay, breaking_relay
from tests.integration.object_store.stores import everything, keys, put, some_bytes
from tests.suite.swift import SwiftServer

SHORT = RequestLimits(connect=1, answer=1, attempts=1)
LARGE = some_bytes(2 * PART + 10)
UPLOADER = """\
import sys, time
from archivebox.lib.object_store import open_store

def blocks():
    yield sys.stdin.buffer.read()
    print("stopped", flush=True)
    time.sleep(600)

open_store(sys.argv[1]).put(sys.argv[2], blocks(), int(sys.argv[3]))
"""
"""Uploads what it reads, and waits before the end to be killed."""

CALLS: tuple[Callable[[ObjectStore], object], ...] = (
    lambda store: put(store, "a", b"x"), lambda store: put(store, "a", LARGE), lambda store: everything(store, "a"),
    lambda store: store.size_of("a"), lambda store: store.delete(["a"]), keys,
)  # fmt: skip
"""Everything that a store can be asked."""


@pytest.fixture
def short(bucket_url: str) -> ObjectStore:
    """The same bucket, with little patience."""
    return open_store(bucket_url, SHORT)


@pytest.fixture
def relay(server: SwiftServer) -> Iterator[BreakingRelay]:
    with breaking_relay(server.port) as running:
        yield running


@pytest.fixture
def breaking(relay: BreakingRelay, bucket_url: str, server: SwiftServer) -> ObjectStore:
    """The same bucket by a connection that breaks."""
    return open_store(bucket_url.replace(str(server.port), str(relay.port)))


def assert_each_raises(store: ObjectStore, error: type[Exception], match: str = "") -> None:
    for call in CALLS:
        with pytest.raises(error, match=match):
            call(store)


def test_a_server_that_is_away_is_unavailable_and_afterwards_all_is_there(
    server: SwiftServer, bucket_store: ObjectStore, short: ObjectStore
) -> None:
    put(bucket_store, "a", b"kept")
    server.stop()
    try:
        assert_each_raises(short, StoreUnavailableError, "does not answer")
    finally:
        server.start()
    assert everything(bucket_store, "a") == b"kept"


def test_a_server_that_does_not_answer_is_unavailable(
    server: SwiftServer, bucket_store: ObjectStore, short: ObjectStore
) -> None:
    put(bucket_store, "a", b"kept")
    with server.stalled():
        for call in (CALLS[0], *CALLS[2:]):
            with pytest.raises(StoreUnavailableError, match="does not answer"):
                call(short)
    assert everything(bucket_store, "a")


def test_reading_goes_on_where_the_connection_broke(
    bucket_store: ObjectStore, breaking: ObjectStore, relay: BreakingRelay
) -> None:
    put(bucket_store, "a", LARGE)
    relay.break_after(PART // 2, times=2)
    assert everything(breaking, "a", 5) == LARGE[5:]


def test_a_connection_that_breaks_each_time_is_unavailable(breaking: ObjectStore, relay: BreakingRelay) -> None:
    put(breaking, "a", LARGE[:PART])
    relay.break_after(0, times=100)
    with pytest.raises(StoreUnavailableError, match="does not answer"):
        list(breaking.read("a"))


@pytest.mark.parametrize("change", ["replaced", "deleted"])
def test_an_object_that_was_replaced_while_it_is_read_is_not_mixed(
    bucket_store: ObjectStore, breaking: ObjectStore, relay: BreakingRelay, change: str
) -> None:
    put(bucket_store, "a", LARGE)
    relay.break_after(PART, times=1)
    blocks = breaking.read("a")
    next(blocks)
    if change == "replaced":
        put(bucket_store, "a", b"shorter")
    else:
        bucket_store.delete(["a"])
    with pytest.raises(ObjectChangedError):
        list(blocks)


@pytest.mark.parametrize(
    "changed",
    [
        {"AWS_SECRET_ACCESS_KEY": "wrong"},
        {"AWS_ACCESS_KEY_ID": "test:nobody"},
        {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""},
    ],
)
def test_wrong_credentials_are_refused_and_named(
    bucket_url: str, monkeypatch: pytest.MonkeyPatch, changed: dict[str, str], tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # where others may be
    for name, value in changed.items():
        monkeypatch.setenv(name, value)
    store = open_store(bucket_url)
    assert_each_raises(store, StoreRefusedError, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")


def test_a_bucket_that_does_not_exist_is_refused_and_named(server: SwiftServer) -> None:
    assert_each_raises(open_store(server.url("nowhere")), StoreRefusedError, r"s3://nowhere/")


def test_a_folder_that_does_not_exist_is_refused_and_named(tmp_path: Path) -> None:
    assert_each_raises(open_store(f"file://{tmp_path}/nowhere"), StoreRefusedError, "nowhere")


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pages").write_text("a file in the place of a folder")
    with pytest.raises(StoreRefusedError, match="File exists"):
        put(open_store(f"file://{tmp_path}"), "pages/1", b"x")


def test_a_killed_upload_is_no_object_and_what_it_left_goes_with_its_key(
    store: ObjectStore, store_url: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", UPLOADER, store_url, "pages/1", str(len(LARGE))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path.cwd()) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(LARGE)
        process.stdin.close()
        assert process.stdout.readline() == b"stopped\n"
        os.kill(process.pid, signal.SIGKILL)
    assert (store.size_of("pages/1"), keys(store)) == (None, [])
    if isinstance(store, FolderStore):
        assert len(list(tmp_path.rglob("*"))) == 2
    store.delete(["pages/1"])
    assert list(tmp_path.rglob("*")) == []
    put(store, "pages/1", LARGE)
    assert everything(store, "pages/1") == LARGE
