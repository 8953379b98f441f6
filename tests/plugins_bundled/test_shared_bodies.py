"""Bodies that pages of one owner have in common lie on the disk once, and no page depends on another for them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from archivebox.plugins.base.packing import BodySharing, pack, read_shared_body
from archivebox.plugins.base.responses import Archive
from archivebox.replay.addresses import ReplayContext
from archivebox.replay.recorded import RecordedRequest, reply_to
from archivebox.storage.shared_files import linked_name, remove_page, stored_path
from tests.webserver.recording import Page, pack_recording, record_all

pytestmark = pytest.mark.slow

SCRIPT = b"let a = 1; // a library that all pages have\n" * 600
PICTURE = os.urandom(40_000)
SMALL = b"<title>page</title>"
CHECKOUT = Path(__file__).parents[2]
HOST = "http://a.example"
PLACE = ReplayContext("token", "http://127.0.0.1:8000", "20261122090000")


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def capture(folder: Path, store: Path, *answers: tuple[str, Page]) -> Path:
    """A page with a document of its own, and what it has in common with others."""
    record_all(folder, [(f"{HOST}/{folder.name}", Page(SMALL + folder.name.encode(), main=True)), *answers])
    pack_recording(folder, store=store)
    return folder


COMMON = ((f"{HOST}/script.js", Page(SCRIPT, "text/javascript")), (f"{HOST}/picture", Page(PICTURE, "image/png")))


@pytest.fixture
def owner(tmp_path: Path) -> Path:
    return with_three_pages(tmp_path)


def with_three_pages(owner: Path) -> Path:
    """Three pages of one owner that have a script and a picture in common."""
    for name in ("first", "second", "third"):
        capture(owner / "snapshots" / name, owner / ".shared", *COMMON)
    return owner


@pytest.fixture
def owner_on_disk() -> Iterator[Path]:
    """The same, though temporary folders may be in memory, where a file may have any number of names."""
    with TemporaryDirectory(dir="/var/tmp") as folder:
        yield with_three_pages(Path(folder))


def records(data: bytes) -> list[tuple[str, str, str]]:
    """Type, id and what it refers to of each record, as two other programs read them."""
    names = ("WARC-Type", "WARC-Record-ID", "WARC-Refers-To")
    read = ArchiveIterator(io.BytesIO(data), check_digests="raise")
    by_warcio = [tuple(one.rec_headers.get_header(name) or "" for name in names) for one in read]
    by_fastwarc = [tuple(one.headers.get(name) or "" for name in names) for one in FastIterator(io.BytesIO(data))]
    assert by_warcio == by_fastwarc
    return by_warcio  # type: ignore[return-value]  # three names, three values


def cat(folder: Path) -> bytes:
    """What `cat warc/*.warc.gz` gives."""
    return b"".join(path.read_bytes() for path in sorted((folder / "warc").glob("*.warc.gz")))


def shown(folder: Path, url: str) -> bytes:
    reply = reply_to(folder, RecordedRequest(PLACE, url, is_raw=True))
    try:
        return b"".join(iter(lambda: reply.read(10_000), b""))
    finally:
        reply.close()


def assert_whole(folder: Path) -> None:
    """All bodies are found by replay and by hooks, and no record refers to one that is not in the folder."""
    archive = Archive(str(folder / "responses"))
    for url, body in ((f"{HOST}/script.js", SCRIPT), (f"{HOST}/picture", PICTURE)):
        assert shown(folder, url) == body
        found = archive.find(url)
        assert found is not None
        assert archive.body(found) == body
    assert shown(folder, f"{HOST}/{folder.name}").startswith(SMALL)
    assert_refers_to_itself(folder)


def assert_refers_to_itself(folder: Path) -> None:
    read = records(cat(folder))
    ids = {identifier for kind, identifier, _ in read if kind == "response"}
    assert {refers for kind, _, refers in read if kind == "revisit"} <= ids


def size_on_disk(paths: Iterable[Path]) -> int:
    """Apparent size, each inode once."""
    found = {(status.st_dev, status.st_ino): status.st_size for status in (path.lstat() for path in paths)}
    return sum(found.values())


def test_a_large_body_lies_on_the_disk_once_for_all_pages_of_its_owner(owner: Path) -> None:
    for body in (SCRIPT, PICTURE):
        stored = Path(stored_path(str(owner / ".shared"), digest_of(body)))
        links = [page / "warc" / linked_name(digest_of(body)) for page in (owner / "snapshots").iterdir()]
        assert all(link.samefile(stored) for link in links)
        assert stored.stat().st_nlink == 4
        assert stored.stat().st_mode & 0o777 == 0o444 & ~current_umask()
    alone = [*(owner / "snapshots" / "third" / "warc").glob("2*.warc.gz")]
    assert size_on_disk(alone) < 3_000


def current_umask() -> int:
    mask = os.umask(0o77)
    os.umask(mask)
    return mask


def test_each_page_is_whole_and_a_whole_warc(owner: Path) -> None:
    for page in (owner / "snapshots").iterdir():
        assert_whole(page)
    first, second = (records(cat(owner / "snapshots" / name)) for name in ("first", "second"))
    kinds = [[kind for kind, _, _ in found].count("revisit") for found in (first, second)]
    assert kinds == [0, 2], "the first page has the records themselves"


def test_the_index_names_every_record_by_its_id(owner: Path) -> None:
    folder = owner / "snapshots" / "second"
    lines = [json.loads(line.split(" ", 2)[2]) for line in (folder / "warc" / "index.cdxj").read_text().splitlines()]
    kept = {identifier for kind, identifier, _ in records(cat(folder)) if kind in ("response", "revisit")}
    assert {line["record"] for line in lines} == kept
    for line in lines:
        with (folder / "warc" / line["filename"]).open("rb") as file:
            file.seek(int(line["offset"]))
            assert line["record"].encode() in gzip.decompress(file.read(int(line["length"])))


def test_a_page_is_copied_by_tar_cp_and_rsync_without_losing_anything(owner: Path, tmp_path: Path) -> None:
    page = owner / "snapshots" / "second"
    subprocess.run(["cp", "-r", page, tmp_path / "copied"], check=True)
    copies = [tmp_path / "copied", tmp_path / "unpacked" / "second"]
    if rsync := shutil.which("rsync"):
        subprocess.run([rsync, "-a", f"{page}/", tmp_path / "synced"], check=True)
        copies.append(tmp_path / "synced")
    (tmp_path / "unpacked").mkdir()
    subprocess.run(["tar", "-cf", tmp_path / "page.tar", "-C", page.parent, "second"], check=True)
    subprocess.run(["tar", "-xf", tmp_path / "page.tar", "-C", tmp_path / "unpacked"], check=True)
    shutil.rmtree(owner / "snapshots")
    shutil.rmtree(owner / ".shared")
    for copy in copies:
        moved = copy.rename(tmp_path / "second")
        assert_whole(moved)
        shutil.rmtree(moved)


def test_what_a_page_asks_for_again_refers_to_the_record_that_is_there(tmp_path: Path) -> None:
    store = tmp_path / ".shared"
    capture(tmp_path / "first", store, *COMMON)
    again = capture(tmp_path / "second", store, *COMMON, (f"{HOST}/again.js", Page(SCRIPT, "text/javascript")))
    assert_whole(again)
    assert shown(again, f"{HOST}/again.js") == SCRIPT
    assert [kind for kind, _, _ in records(cat(again))].count("revisit") == 3


def test_small_bodies_and_answers_to_what_was_sent_stay_with_their_page(tmp_path: Path) -> None:
    sent = Page(SCRIPT, "text/javascript", method="POST", sent=b"{}")
    page = capture(tmp_path / "page", tmp_path / ".shared", (f"{HOST}/ask", sent))
    assert not list((page / "warc").glob("shared-*"))
    assert not (tmp_path / ".shared").exists()


def test_packing_again_after_a_death_gives_the_same_records(owner: Path) -> None:
    page = owner / "snapshots" / "fourth"
    own = (f"{HOST}/own", Page(SCRIPT[1:], "text/plain"))
    record_all(page, [(f"{HOST}/fourth", Page(SMALL)), *COMMON, own])
    recording = next((page / "responses").glob("*.warc"))
    kept = recording.read_bytes()
    pack_recording(page, store=owner / ".shared")
    before = cat(page), (page / "warc" / "index.cdxj").read_text()
    recording.write_bytes(kept)
    with chdir(page / "warc"):
        lines = pack(str(recording), f"{recording.name}.gz", BodySharing(str(owner / ".shared"), "."))
    assert (cat(page), "".join(sorted(lines))) == before


def rewritten(record: bytes) -> bytes:
    return gzip.compress(gzip.decompress(record).replace(b"library", b"liberty"))


@pytest.mark.parametrize("damage", [lambda record: record[:-20], lambda _record: b"", rewritten])
def test_nothing_damaged_is_linked_and_the_next_page_replaces_it(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    store = tmp_path / ".shared"
    capture(tmp_path / "first", store, *COMMON)
    stored = Path(stored_path(str(store), digest_of(SCRIPT)))
    data = stored.read_bytes()
    stored.unlink()
    stored.write_bytes(damage(data))
    second = capture(tmp_path / "second", store, *COMMON)
    assert_whole(second)
    assert stored.samefile(second / "warc" / linked_name(digest_of(SCRIPT)))
    assert [path.name for path in stored.parent.iterdir()] == [stored.name]


def test_a_link_left_by_a_death_is_never_written_through(owner: Path) -> None:
    stored = Path(stored_path(str(owner / ".shared"), digest_of(SCRIPT)))
    before = stored.read_bytes()
    page = owner / "snapshots" / "fourth"
    (page / "warc").mkdir(parents=True)
    os.link(stored, page / "warc" / ".shared.tmp")
    sharing = BodySharing(str(owner / ".shared"), str(page / "warc"))
    assert sharing.keep(digest_of(b"x"), lambda file: file.write(b"other")) is None
    assert stored.read_bytes() == before


def test_where_no_links_can_be_made_each_page_has_its_own_copy(tmp_path: Path) -> None:
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK) or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system")
    with TemporaryDirectory(dir=memory) as store:
        first = capture(tmp_path / "first", Path(store), *COMMON)
        stored = Path(stored_path(store, digest_of(SCRIPT)))
        shutil.copy(first / "warc" / linked_name(digest_of(SCRIPT)), stored)
        second = capture(tmp_path / "second", Path(store), *COMMON)
    for page in (first, second):
        assert_whole(page)
        assert {path.stat().st_nlink for path in (page / "warc").glob("shared-*")} == {1}


def test_a_removed_page_takes_along_only_what_no_other_has(tmp_path: Path) -> None:
    store, day = tmp_path / "x" / ".shared", tmp_path / "x" / "snapshots" / "20261126" / "a.example"
    only_first = (f"{HOST}/own", Page(PICTURE[1:], "image/png"))
    first = capture(day / "first", store, *COMMON, only_first)
    second = capture(day / "second", store, *COMMON)
    remove_page(first)
    assert_whole(second)
    kept = {path.name.partition(".")[0] for path in store.rglob("*.gz")}
    assert kept == {digest_of(SCRIPT), digest_of(PICTURE)}
    remove_page(second)
    assert not list(store.rglob("*.gz"))


PACKING = """
import sys
from pathlib import Path
from tests.plugins_bundled.test_shared_bodies import COMMON, capture
folder = Path(sys.argv[1])
for number in range(int(sys.argv[3])):
    capture(folder / f"{sys.argv[2]}{number}", folder / ".shared", *COMMON)
    print(flush=True)
"""
"""Packs page after page, and says so after each."""


def packing(folder: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", PACKING, str(folder), name, str(count)]
    return subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE)


def test_two_processes_at_once_and_one_that_cleans_up_lose_nothing(tmp_path: Path) -> None:
    both = [packing(tmp_path, name, 20) for name in ("a", "b")]
    while any(one.poll() is None for one in both):
        for path in (tmp_path / ".shared").rglob("*.gz"):
            path.unlink(missing_ok=True)
    assert [one.communicate() and one.returncode for one in both] == [0, 0]
    for page in (*tmp_path.glob("a*"), *tmp_path.glob("b*")):
        assert_refers_to_itself(page)


def test_a_kill_at_any_moment_leaves_nothing_that_is_not_whole(tmp_path: Path) -> None:
    for number in range(5):
        with packing(tmp_path, f"{number}-", 100) as process:
            assert process.stdout is not None
            for _ in range(number + 1):
                process.stdout.readline()
            process.kill()
    stored = list((tmp_path / ".shared").rglob("*.gz"))
    linked = list(tmp_path.glob("*/warc/shared-*"))
    assert stored
    assert linked
    for path in (*stored, *linked):
        digest = path.name.removeprefix("shared-").partition(".")[0]
        assert read_shared_body(str(path), digest) is not None, path


def test_a_record_with_all_the_links_it_may_have_is_replaced_by_the_next_page(owner_on_disk: Path) -> None:
    """EMLINK: ext4 allows 65,000 names of a file."""
    owner = owner_on_disk
    stored = Path(stored_path(str(owner / ".shared"), digest_of(SCRIPT)))
    if (most := os.pathconf(owner, "PC_LINK_MAX")) > 70_000:
        pytest.skip(f"files may have {most} names here")
    (owner / "names").mkdir()
    for number in range(most - stored.stat().st_nlink):
        os.link(stored, owner / "names" / str(number))
    with pytest.raises(OSError, match="Too many links"):
        os.link(stored, owner / "names" / "one more")
    fourth, fifth = (capture(owner / "snapshots" / name, owner / ".shared", *COMMON) for name in ("fourth", "fifth"))
    assert_whole(fourth)
    assert_whole(fifth)
    assert stored.stat().st_nlink == 3, "in the store, and in both new pages"
    assert_whole(owner / "snapshots" / "third")
