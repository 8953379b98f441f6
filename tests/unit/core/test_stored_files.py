"""Files of a page that is in the object store alone are read by ranges of its object."""

import asyncio
import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from archivebox.core.models import Snapshot
from archivebox.core.page_storage.folder import note_path
from archivebox.core.page_storage.uploading import store_page
from archivebox.lib.object_store import BLOCK, FolderStore, ObjectStoreError
from archivebox.replay import capability
from archivebox.replay.answer import CHUNK
from archivebox.replay.folders import PageFiles, files_of
from archivebox.replay.listener import EndedError, Listener
from archivebox.replay.scripts.listener import ViewListener
from archivebox.storage import page_archive
from archivebox.storage.page_archive import DIRECTORY_GUESS
from archivebox.web.snapshot.file_excerpts import NOTHING, read_part
from tests.stored_pages import sealed

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]
PICTURE = random.Random(1).randbytes(3 * CHUNK + 17)
VIDEO = 40 * CHUNK


class Request:
    """What granian tells, and takes."""

    def __init__(self, path: str, headers: dict[str, str]) -> None:
        encoded = [(name.encode(), value.encode()) for name, value in {"host": "localhost", **headers}.items()]
        self.scope = {"method": "GET", "raw_path": path.encode(), "query_string": b"", "headers": encoded}
        self.status, self.answered, self.body = 0, dict[str, str](), b""
        self.is_over = False
        self.leaves_after, self.left = VIDEO + 1, asyncio.Event()

    async def send(self, message: dict[str, Any]) -> None:
        assert not self.is_over, "one answer"
        if message["type"] == "http.response.start":
            assert not self.status, "one answer"
            self.status = message["status"]
            self.answered = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            assert len(message["body"]) <= CHUNK
            self.body += message["body"]
            self.is_over = not message.get("more_body", False)
            if len(self.body) >= self.leaves_after:
                self.left.set()

    async def receive(self) -> dict[str, Any]:
        """As granian does it, which takes what is sent to a reader that has left."""
        await self.left.wait()
        return {"type": "http.disconnect"}


def nothing(*_: object) -> None:
    raise EndedError


def ask(page: Snapshot, path: str, leaves_after: int = VIDEO + 1, /, **headers: str) -> Request:
    files = files_of(page)
    request = Request(f"/{capability.grant(page.pk, capability.PUBLIC)}/{path}", headers)
    request.leaves_after = leaves_after
    views = ViewListener(nothing, nothing, nothing)  # type: ignore[arg-type]  # none is asked for
    listener = Listener(lambda _: files, lambda _: True, views)
    asyncio.run(listener(request.scope, request.receive, request.send))
    return request


@pytest.fixture
def page(store: Path) -> Snapshot:
    """A page with a picture, a document and a large video, which is in the store alone."""
    del store
    page = sealed(words="the words")
    for name, data in {
        "shot/shot.png": PICTURE,
        "media/film.mp4": b"\1" * VIDEO,
        "page/page.html": b"<p>Words <a href='http://one.test/'>here</a>",
        ".hooks/run.json": b"{}",
    }.items():
        (page.path / name).parent.mkdir(exist_ok=True)
        (page.path / name).write_bytes(data)
    store_page(page.pk, page.path)
    shutil.rmtree(page.path)
    note_path(page.pk).unlink()
    return page


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each block that was read of the store."""
    found: list[int] = []
    read = FolderStore.read

    def counted(store: FolderStore, key: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        for block in read(store, key, start, stop):
            found.append(len(block))
            yield block

    monkeypatch.setattr(FolderStore, "read", counted)
    return found


def test_a_picture_is_answered_with_its_bytes_and_the_directory_alone(page: Snapshot, reads: Sequence[int]) -> None:
    answer = ask(page, "shot/shot.png")
    assert (answer.status, answer.answered["content-type"], answer.body == PICTURE) == (200, "image/png", True)
    assert sum(reads) == len(PICTURE) + DIRECTORY_GUESS
    assert not page.path.exists()


def test_a_range_of_a_video_is_answered_with_that_range(page: Snapshot, reads: Sequence[int]) -> None:
    answer = ask(page, "media/film.mp4", range=f"bytes={VIDEO - 10}-")
    assert (answer.status, answer.body) == (206, b"\1" * 10)
    assert answer.answered["content-range"] == f"bytes {VIDEO - 10}-{VIDEO - 1}/{VIDEO}"
    assert sum(reads) <= page_archive.BLOCK + DIRECTORY_GUESS
    same = ask(page, "media/film.mp4", range="bytes=0-4", **{"if-range": answer.answered["etag"]})
    assert (same.status, same.body) == (206, b"\1" * 5)
    assert ask(page, "media/film.mp4", range=f"bytes={VIDEO}-").status == 416
    assert ask(page, "media/film.mp4", **{"if-none-match": answer.answered["etag"]}).status == 304
    assert max(reads) <= BLOCK
    assert not page.path.exists()


def test_a_file_is_read_no_further_once_its_reader_has_left(page: Snapshot, reads: Sequence[int]) -> None:
    assert len(ask(page, "media/film.mp4", 2 * CHUNK).body) < VIDEO / 4
    assert sum(reads) < VIDEO / 2


def test_documents_and_folders_come_from_the_store(page: Snapshot) -> None:
    document = ask(page, "page/page.html")
    assert (document.status, b"Words" in document.body) == (200, True)
    assert b"./page.html" in ask(page, "page/").body
    assert [ask(page, "page").status, ask(page, "none/").status, ask(page, "text/link").status] == [302, 404, 404]
    entries = files_of(page).open([]).entries()
    assert [entry.name for entry in entries] == ["media", "page", "shot", "text", "warc"]
    assert not page.path.exists()


def test_pages_of_the_app_read_the_beginning_of_a_file(page: Snapshot, reads: Sequence[int]) -> None:
    assert read_part(page, "media", "film.mp4", 100).data == b"\1" * 100
    assert sum(reads) <= page_archive.BLOCK + DIRECTORY_GUESS
    assert read_part(page, "media", "none.mp4") is NOTHING
    assert not page.path.exists()


def test_a_damaged_file_is_not_answered_whole(page: Snapshot, store: Path) -> None:
    (stored,) = store.glob("pages/*/*.zip")
    stored.write_bytes(stored.read_bytes().replace(PICTURE[-9:], b"otherwise"))
    answer = ask(page, "shot/shot.png")
    assert answer.answered["content-length"] == str(len(PICTURE))
    assert len(answer.body) < len(PICTURE), "the last block is not sent"


def test_no_part_of_a_file_is_shown_of_an_object_that_was_replaced(page: Snapshot, store: Path) -> None:
    """By one that is as large and has checksums of its own; or of a block that was."""
    (stored,) = store.glob("pages/*/*.zip")
    genuine = stored.read_bytes()
    at = genuine.index(b"\1" * VIDEO) + VIDEO - 5
    stored.write_bytes(genuine[:at] + b"\2" + genuine[at + 1 :])
    assert ask(page, "media/film.mp4", range="bytes=0-4").body == b"\1" * 5, "the blocks before it are genuine"
    assert b"\2" not in ask(page, "media/film.mp4", range=f"bytes={VIDEO - 10}-").body
    file = next(
        file
        for file in page_archive.read_directory(lambda *at: genuine[slice(*at)], len(genuine))
        if "film" in file.name
    )
    forged = file._replace(hashes=bytes(len(file.hashes)))
    stored.write_bytes(genuine.replace(file.hashes, forged.hashes))
    assert ask(page, "shot/shot.png").status == 503


def test_what_cannot_be_read_of_the_store_is_a_503(page: Snapshot, store: Path) -> None:
    files = files_of(page)
    store.rename(store.with_name("aside"))
    for path in ("shot/shot.png", "media/film.mp4", "page/page.html", "page/"):
        answer = ask(page, path)
        assert (answer.status, answer.answered["retry-after"]) == (503, "30"), path
        assert b"does not answer" in answer.body
    with pytest.raises(ObjectStoreError):
        files.folder()


def test_a_file_that_is_here_is_read_here(page: Snapshot, reads: list[int]) -> None:
    files_of(page).folder()
    reads.clear()
    assert ask(page, "shot/shot.png").body == PICTURE
    assert reads == []
    assert PageFiles(page.path).read_start(["text", "words.txt"], 3) == (b"the", 9)
