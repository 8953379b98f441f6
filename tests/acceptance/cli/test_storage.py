"""`archivebox storage` as it is typed, and what commands say while the object store does not answer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.cli.conftest import Type, Typed
from tests.webserver.server import in_collection

pytestmark = pytest.mark.once
Words = Callable[..., Typed]
SEALED = "from tests.stored_pages import sealed; print(sealed(words='words').path)"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    return folder


@pytest.fixture
def page(collection: Path) -> Path:
    """The folder of a sealed page."""
    return Path(in_collection(collection, SEALED))


@pytest.fixture
def stored(cli: Type, store: Path) -> Words:
    """Types with a store."""
    return lambda *words: cli(*words, STORAGE_URL=store.as_uri(), STORAGE_GRACE="0")


@pytest.mark.parametrize("command", ["verify", "move"])
@pytest.mark.usefixtures("collection")
def test_without_a_store_a_command_that_needs_one_says_so(cli: Type, command: str) -> None:
    done = cli("storage", command)
    assert (done.code, "set STORAGE_URL" in done.err, done.out) == (2, True, "")


def test_pages_are_stored_verified_and_collected(stored: Words, store: Path, page: Path) -> None:
    moved = stored("storage", "move").record
    assert (moved["type"], moved["copied"], moved["known"], moved["failed"]) == ("MoveReport", 1, 0, [])
    assert (stored("storage", "verify").record["same"], stored("storage", "verify", "--digests").code) == (1, 0)
    unused, unknown = stored("storage", "gc").records
    assert (unused["type"], unused["files"]) == ("StorageReport", 0)
    assert (unknown["type"], unknown["objects"], unknown["unknown"]) == ("StoreGarbage", 0, 0)
    (zipped,) = store.glob("pages/*/*.zip")
    zipped.unlink()
    broken = stored("storage", "verify")
    assert (broken.code, "missing" in broken.err) == (1, True)
    assert page.is_dir()


def test_bodies_are_linked_again_and_deleted_with_their_last_page(cli: Type, page: Path) -> None:
    (body,) = page.glob("warc/shared-*")
    data = body.read_bytes()
    body.unlink()
    body.write_bytes(data)
    done = cli("storage", "dedupe")
    assert (done.code, done.record["files"], done.record["bytes"]) == (0, 1, len(data))
    assert body.stat().st_nlink == 2
    assert cli("storage", "dedupe").record["files"] == 0
    shutil.rmtree(page)
    collected = cli("storage", "gc")
    assert (collected.code, collected.record["files"], collected.record["bytes"]) == (0, 1, len(data))
    assert cli("storage", "gc").record["files"] == 0


def test_commands_say_that_the_store_does_not_answer(stored: Words, store: Path, page: Path) -> None:
    assert stored("storage", "move").code == 0
    shutil.rmtree(page)
    store.rename(store.with_name("aside"))
    for words in (["verify"], ["verify", "--digests"], ["gc"], ["move", "--to", "disk"]):
        done = stored("storage", *words)
        assert (done.code, str(store) in done.err) == (1, True), (words, done)
        assert "Traceback" not in done.err
    exported = stored("export", "--all")
    assert (exported.code, str(store) in exported.err) == (1, True), exported
    for words in (["list"], ["search", "example"], ["snapshot", "list"], ["snapshot", "show", page.name]):
        assert stored(*words).code == 0, words
    verified = stored("snapshot", "verify", page.name)
    assert (verified.code, str(store) in verified.err) == (1, True), verified
    assert not page.exists()
    store.with_name("aside").rename(store)
    assert stored("export", "--all").code == 0
    assert (page / "text" / "words.txt").read_text() == "words"
