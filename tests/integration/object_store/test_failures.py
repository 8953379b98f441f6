"""What a store does that fails in the middle: a real server that is away, stalled, restarted, or refuses."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from archivebox.lib.object_store import (
    ObjectChangedError,
    ObjectStore,
    RequestLimits,
    StoreRefusedError,
    StoreUnavailableError,
    UploadMissingError,
    open_store,
)
from archivebox.lib.object_store.interface import PART
from archivebox.lib.object_store.s3 import S3Store
from tests.integration.object_store.relay import BreakingRelay, breaking_relay
from tests.integration.object_store.stores import everything, file_of, keys, some_bytes
from tests.suite.swift import SwiftServer

SHORT = RequestLimits(connect=1, answer=1, attempts=1)
LARGE = some_bytes(2 * PART + 10)
UPLOADER = """\
import io, sys, time
from archivebox.lib.object_store import open_store

class StoppingFile(io.BytesIO):
    def read(self, size=-1):
        if self.tell() >= int(sys.argv[4]):
            print("stopped", flush=True)
            time.sleep(600)
        return super().read(size)

data = sys.stdin.buffer.read()
open_store(sys.argv[1]).put_file(sys.argv[2], StoppingFile(data), len(data), sys.argv[3])
"""
"""Uploads what it reads, up to a byte, and waits there to be killed."""

CALLS: tuple[Callable[[ObjectStore], object], ...] = (
    lambda store: store.put_bytes("a", b"x"), lambda store: store.put_file("a", file_of(LARGE), len(LARGE)),
    lambda store: store.begin_upload("a"), lambda store: store.abort_upload("a", "some-upload"),
    lambda store: list(store.uploads("")), lambda store: everything(store, "a"), lambda store: store.size_of("a"),
    lambda store: store.delete(["a"]), keys,
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
    bucket_store.put_bytes("a", b"kept")
    server.stop()
    try:
        assert_each_raises(short, StoreUnavailableError, "does not answer")
    finally:
        server.start()
    assert everything(bucket_store, "a") == b"kept"


def test_a_server_that_does_not_answer_is_unavailable(
    server: SwiftServer, bucket_store: ObjectStore, short: ObjectStore
) -> None:
    bucket_store.put_bytes("a", b"kept")
    with server.stalled():
        for call in (CALLS[0], CALLS[5], CALLS[6], CALLS[8]):
            with pytest.raises(StoreUnavailableError, match="does not answer"):
                call(short)
    assert everything(bucket_store, "a")


def test_reading_goes_on_where_the_connection_broke(
    bucket_store: ObjectStore, breaking: ObjectStore, relay: BreakingRelay
) -> None:
    bucket_store.put_file("a", file_of(LARGE), len(LARGE))
    relay.break_after(PART // 2, times=2)
    assert everything(breaking, "a", 5) == LARGE[5:]


def test_a_connection_that_breaks_each_time_is_unavailable(breaking: ObjectStore, relay: BreakingRelay) -> None:
    breaking.put_bytes("a", LARGE[:PART])
    relay.break_after(0, times=100)
    with pytest.raises(StoreUnavailableError, match="does not answer"):
        list(breaking.read("a"))


@pytest.mark.parametrize("change", ["replaced", "deleted"])
def test_an_object_that_was_replaced_while_it_is_read_is_not_mixed(
    bucket_store: ObjectStore, breaking: ObjectStore, relay: BreakingRelay, change: str
) -> None:
    bucket_store.put_file("a", file_of(LARGE), len(LARGE))
    relay.break_after(PART, times=1)
    blocks = breaking.read("a")
    next(blocks)
    if change == "replaced":
        bucket_store.put_bytes("a", b"shorter")
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
        open_store(f"file://{tmp_path}").put_bytes("pages/1", b"x")


def test_an_upload_goes_on_after_its_process_was_killed(store: ObjectStore, store_url: str) -> None:
    upload = store.begin_upload("pages/1")
    command = [sys.executable, "-c", UPLOADER, store_url, "pages/1", upload, str(PART + 1_000_000)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path.cwd()) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(LARGE)
        process.stdin.close()
        assert process.stdout.readline() == b"stopped\n"
        os.kill(process.pid, signal.SIGKILL)
    assert store.size_of("pages/1") is None
    assert [each.upload for each in store.uploads("pages/")] == [upload]
    sent = parts_sent(store)
    store.put_file("pages/1", file_of(LARGE), len(LARGE), upload)
    assert everything(store, "pages/1") == LARGE
    assert sent in ([], [2, 3])


def test_an_object_with_another_etag_is_compared_by_its_bytes(bucket_store: ObjectStore) -> None:
    """As after an upload whose end nobody heard of, to a store that encrypts: here one request sent all of it."""
    assert isinstance(bucket_store, S3Store)
    bucket_store._client.put_object(**bucket_store._at("a"), Body=LARGE)
    bucket_store.put_file("a", file_of(LARGE), len(LARGE), bucket_store.begin_upload("a"))
    with pytest.raises(UploadMissingError):
        bucket_store.put_file("a", file_of(LARGE[::-1]), len(LARGE), bucket_store.begin_upload("a"))
    assert everything(bucket_store, "a") == LARGE


def parts_sent(store: ObjectStore) -> list[int]:
    """Numbers of the parts that a client sends from now on; a folder has none."""
    sent: list[int] = []
    if isinstance(store, S3Store):
        store._client.meta.events.register(
            "provide-client-params.s3.UploadPart", lambda params, **_: sent.append(params["PartNumber"])
        )
    return sent
