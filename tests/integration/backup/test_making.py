"""A backup is a folder of ordinary files; what has not changed is there once; a kill or a full disk costs nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from django.utils import timezone

from archivebox.backup.destination import DATA, Destination, DestinationError, last_backup
from archivebox.backup.make import make_backup
from archivebox.backup.restore import restore, verify
from archivebox.config.database_copy import DatabaseCopyError
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.plugins.base.hash_tree import build_manifest
from archivebox.storage.layout import DataFolder
from archivebox.storage.shared_files import own_files
from tests import factories
from tests.integration.backup.conftest import Kept
from tests.integration.engine.disks import MEGABYTE, small_disk
from tests.settings import ROOT
from tests.status_triggers import arrange

pytestmark = pytest.mark.once  # the database that is copied is a file

PAGE = "users/x/snapshots/20261126/one.test/page/title/title.txt"
CHECKOUT = Path(__file__).parents[3]
STOPS = """
import os, sys, time
from pathlib import Path
import django
django.setup()
from archivebox.backup.destination import Destination
from archivebox.backup.make import make_backup
from archivebox.storage.layout import DataFolder
def stop(summary):
    if summary.files == int(sys.argv[3]):
        print(flush=True)
        time.sleep(600)
make_backup(DataFolder(Path(sys.argv[1])), Destination(Path(sys.argv[2])), on_progress=stop)
"""
"""Makes a backup, says when so many files are in it, and stays there."""


def test_what_has_not_changed_is_linked_and_what_has_is_copied(kept: Kept) -> None:
    kept.back_up()
    first = kept.newest
    kept.write("ArchiveBox.conf", "TIMEOUT = 6\n")
    kept.write("sources/new.txt")
    summary = kept.back_up()
    second = kept.newest
    assert (first / DATA / PAGE).samefile(second / DATA / PAGE)
    assert (first / DATA / "ArchiveBox.conf").read_text() == "TIMEOUT = 5\n"
    assert (second / DATA / "ArchiveBox.conf").read_text() == "TIMEOUT = 6\n"
    assert (summary.files, summary.copied_files) == (5, 2)
    assert [verify(one).is_whole for one in kept.destination.backups()] == [True, True]
    assert last_backup(kept.folder) is not None


def test_a_body_that_pages_share_is_once_in_a_backup_and_after_a_restore(kept: Kept, tmp_path: Path) -> None:
    shared = kept.write_shared(b"x" * 1000)
    before = kept.back_up()
    os.link(shared[0], shared[0].with_name("another-page"))  # gives the file a new time
    shared[0].with_name("another-page").unlink()
    after = kept.back_up()
    assert before.bytes == after.bytes
    names = [path.relative_to(kept.folder.root) for path in shared]
    for backup in kept.destination.backups():
        assert len({(backup / DATA / name).stat().st_ino for name in names}) == 1
        verdict = verify(backup)
        assert (verdict.is_whole, verdict.bytes) == (True, before.bytes)
    report = restore(kept.newest, DataFolder(tmp_path / "restored"))
    assert report.is_whole
    assert len({(tmp_path / "restored" / name).stat().st_ino for name in names}) == 1
    assert {(tmp_path / "restored" / name).read_bytes() for name in names} == {b"x" * 1000}


def test_a_damaged_body_is_told_of_under_each_of_its_names(kept: Kept, tmp_path: Path) -> None:
    shared = kept.write_shared(b"x" * 1000)
    kept.back_up()
    names = sorted(f"data/{path.relative_to(kept.folder.root)}" for path in shared)
    (kept.newest / names[0]).write_bytes(b"y" * 1000)
    assert verify(kept.newest).changed == names
    assert restore(kept.newest, DataFolder(tmp_path / "restored")).changed == names


def test_a_file_that_was_written_and_given_its_former_time_is_copied(kept: Kept) -> None:
    kept.back_up()
    path = kept.folder.root / PAGE
    before = path.stat()
    path.write_text("Eltit")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    kept.back_up()
    assert (kept.data / PAGE).read_text() == "Eltit"


def test_what_was_only_touched_by_a_move_is_not_there_twice(kept: Kept) -> None:
    """A restored collection has all files anew, and as they were."""
    kept.back_up()
    first = kept.newest
    moved = kept.folder.root.with_name("moved")
    shutil.copytree(kept.folder.root, moved, symlinks=True)
    summary = make_backup(DataFolder(moved), kept.destination)
    assert (first / DATA / PAGE).samefile(kept.data / PAGE)
    assert summary.copied_files == 0


def test_what_is_made_anew_is_left_out_unless_wanted(kept: Kept) -> None:
    for name in ("run", "logs", "machines", "exports", "backups"):
        kept.write(f"{name}/deep/file")
    kept.write("plugins/own/logs/file")
    kept.back_up()
    assert {path.name for path in kept.data.iterdir()} == {
        "ArchiveBox.conf", "index.sqlite3", "keys", "personas", "plugins", "sources", "users",
    }  # fmt: skip
    assert (kept.data / "plugins/own/logs/file").exists()
    kept.back_up(also=frozenset({"exports"}))
    assert (kept.data / "exports/deep/file").exists()


def test_links_and_names_that_are_no_text_are_kept_and_sockets_are_not(kept: Kept) -> None:
    odd = os.fsdecode(b"users/x/\xff\n.txt")
    kept.write(odd)
    (kept.folder.root / "users/x/link").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(kept.folder.root / "users/x/socket"))
        kept.back_up()
    data = kept.data
    assert (data / odd).read_text() == "words"
    assert str((data / "users/x/link").readlink()) == "nowhere"
    assert not (data / "users/x/socket").exists()
    assert verify(kept.newest).is_whole
    kept.back_up()
    assert verify(kept.newest).is_whole


def test_a_folder_of_pages_on_another_disk_is_in_the_backup(kept: Kept, tmp_path: Path) -> None:
    elsewhere = tmp_path / "disk"
    kept.folder.users.rename(elsewhere)
    kept.folder.users.symlink_to(elsewhere)
    kept.write("private/conf", "TIMEOUT = 7\n").rename(tmp_path / "conf")
    kept.folder.conf.unlink()
    kept.folder.conf.symlink_to(tmp_path / "conf")
    assert kept.back_up().unread == []
    assert (kept.data / PAGE).read_text() == "Title"
    assert not (kept.data / "users").is_symlink()
    assert (kept.data / "ArchiveBox.conf").read_text() == "TIMEOUT = 7\n"
    with pytest.raises(DestinationError, match="in the collection"):
        make_backup(kept.folder, Destination(elsewhere / "dest"))
    elsewhere.rename(tmp_path / "unmounted")
    assert kept.back_up().unread == ["users"]


def test_links_to_other_places_are_named(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "profile").mkdir()
    for name, target in (("one", tmp_path / "profile"), ("lock", tmp_path / "none"), ("own", kept.folder.users)):
        (kept.folder.personas / name).symlink_to(target)
    assert kept.back_up().outside == ["personas/one"]
    (kept.data / "personas/one").unlink()
    assert verify(kept.newest).is_whole, "where it leads is in the manifest"


def test_a_backup_is_whole_even_if_that_cannot_be_noted(kept: Kept) -> None:
    kept.folder.run.rename(kept.folder.root / "sources/run")
    kept.write("run")
    kept.back_up()
    assert verify(kept.newest).is_whole


def test_folders_keep_their_modes_whatever_the_umask(kept: Kept) -> None:
    kept.folder.users.chmod(0o755)
    kept.back_up()
    assert (kept.data / "users").stat().st_mode & 0o777 == 0o755


def test_all_that_others_have_committed_is_in_the_copy_of_the_database(kept: Kept) -> None:
    with closing(sqlite3.connect(kept.folder.database)) as writer:
        writer.execute("INSERT INTO words VALUES ('committed')")
        writer.commit()
        writer.execute("INSERT INTO words VALUES ('open')")
        kept.back_up()
        writer.rollback()
    copy = kept.data / "index.sqlite3"
    with closing(sqlite3.connect(f"file:{copy}?mode=ro&immutable=1", uri=True)) as database:
        assert database.execute("SELECT word FROM words").fetchall() == [("committed",)]


def test_a_damaged_database_is_not_taken_for_a_backup(kept: Kept) -> None:
    kept.back_up()
    with kept.folder.database.open("r+b") as file:
        file.seek(0)
        file.write(b"no SQLite")
    with pytest.raises(DatabaseCopyError, match="cannot be copied"):
        kept.back_up()
    assert len(kept.destination.backups()) == 1
    assert kept.destination.incomplete() == []


def test_a_damaged_file_is_found_and_replaced_when_unchanged_files_are_read_again(kept: Kept) -> None:
    kept.back_up()
    damaged = kept.data / PAGE
    status = damaged.stat()
    damaged.write_text("Tit1e")
    os.utime(damaged, ns=(status.st_atime_ns, status.st_mtime_ns))
    (kept.data / "keys" / "signing.key").unlink()
    (kept.data / "keys" / "other.key").touch()
    verdict = verify(kept.newest)
    assert verdict.changed == [f"data/{PAGE}"]
    assert verdict.missing == ["data/keys/signing.key"]
    assert verdict.added == ["data/keys/other.key"]
    summary = kept.back_up(reread=True)
    assert verify(kept.newest).is_whole
    assert summary.copied_files == 2


def test_only_one_backup_runs_at_a_time(kept: Kept) -> None:
    kept.destination.folder.mkdir()
    with kept.destination.locked(), pytest.raises(DestinationError, match="is running"):
        kept.back_up()


def test_a_destination_that_cannot_be_one_is_refused(kept: Kept) -> None:
    root = kept.folder.root
    (root.parent / "file").touch()
    for place, reason in ((root / "users", "in the collection"), (root.parent / "no/where", "mounted"),
                          (root.parent / "file", "not a folder")):  # fmt: skip
        with pytest.raises(DestinationError, match=reason):
            make_backup(kept.folder, type(kept.destination)(place))


def test_an_interrupted_removal_is_finished_by_the_next_backup(kept: Kept) -> None:
    kept.back_up()
    whole = kept.newest
    left = shutil.copytree(whole, whole.with_name("2020-01-01T00-00-00Z.incomplete"))
    kept.back_up()
    assert not left.exists()
    assert len(kept.destination.backups()) == 2


def kill_after(kept: Kept, files: int) -> None:
    command = [sys.executable, "-c", STOPS, str(kept.folder.root), str(kept.destination.folder), str(files)]
    settings = {"DATA_DIR": str(ROOT), "DJANGO_SETTINGS_MODULE": "archivebox.config.settings"}
    with subprocess.Popen(command, env={**os.environ, **settings}, cwd=CHECKOUT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline(), "it has come so far"
        process.send_signal(signal.SIGKILL)


@pytest.mark.django_db(transaction=True)
def test_a_killed_backup_counts_as_none_and_the_next_goes_on_with_it(kept: Kept) -> None:
    kept.back_up()
    for number in range(4200):
        kept.write(f"users/x/files/{number // 100:02}/{number:04}", str(number))
    for files in (1, 3000, 10):
        kill_after(kept, files)
        assert len(kept.destination.backups()) == 1
        assert verify(kept.newest).is_whole
    summary = kept.back_up()
    assert summary.files == 4204
    assert summary.copied_files < 4200 - 1500, "what was durable was linked"
    assert kept.destination.incomplete() == []
    assert verify(kept.newest).is_whole


def test_a_full_disk_leaves_earlier_backups_whole(kept: Kept, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        on_disk = Kept(kept.folder, type(kept.destination)(disk.path / "dest"))
        on_disk.back_up()
        large = on_disk.write("users/x/large", bytes(30 * MEGABYTE))
        with pytest.raises(OSError, match="No space left"):
            on_disk.back_up()
        large.unlink()
        disk.fill()
        with pytest.raises(OSError, match="No space left"):
            on_disk.back_up()
        assert verify(on_disk.newest).is_whole
        disk.free()
        on_disk.back_up()
        assert len(on_disk.destination.backups()) == 2
        assert verify(on_disk.newest).is_whole


def finished_page(kept: Kept, *urls: str) -> list[Path]:
    """The folders of finished pages, each with a picture and a text that are in its list of hashes, and a log."""
    folders = []
    for page in factories.crawl(*urls).snapshot_set.order_by("url"):
        arrange(Snapshot.objects.filter(pk=page.pk), status="sealed")
        folder = kept.folder.root / page.output_dir
        for name in ("screenshot/page.png", "title/title.txt", ".hooks/title.stdout.log"):
            kept.write(f"{page.output_dir}/{name}", f"{name} of {page.url}")
        hashes = json.dumps(build_manifest(folder, excluded=(".hooks", "hashes")))
        kept.write(f"{page.output_dir}/hashes/hashes.json", hashes)
        rows = {"plugin": "hashes", "hook_name": "on_Snapshot__93_hashes.py", "status": "succeeded"}
        ArchiveResult.objects.bulk_create([ArchiveResult(snapshot=page, **rows)])
        folders.append(folder)
    time.sleep(0.1)  # longer than the clock of files may be behind
    return folders


def test_files_of_finished_pages_are_linked_from_the_collection(kept: Kept) -> None:
    finished, unfinished = finished_page(kept, "http://a.test/", "http://b.test/")
    arrange(Snapshot.objects.filter(url="http://b.test/"), status="queued")
    (shared, *_) = kept.write_shared()
    summary = kept.back_up()
    data = kept.data
    linked = [
        path
        for path in kept.folder.users.rglob("*")
        if path.is_file() and path.samefile(data / path.relative_to(kept.folder.root))
    ]
    assert {path.relative_to(finished).as_posix() for path in linked} == {
        "screenshot/page.png", "title/title.txt", "hashes/hashes.json",
    }  # fmt: skip
    assert not unfinished.is_symlink()
    assert shared.stat().st_nlink == 3, "one that no page has can be deleted"
    assert (summary.damaged, verify(kept.newest).is_whole) == ([], True)
    again = kept.back_up()
    assert again.copied_files == 0
    assert verify(kept.newest).is_whole


def test_a_hook_that_runs_again_writes_into_no_backup(kept: Kept) -> None:
    (page,) = finished_page(kept, "http://a.test/")
    kept.back_up()
    first = kept.newest
    own_files(page, "title")  # as before each hook of a page that was finished before
    (page / "title/title.txt").write_text("another")
    kept.back_up()
    assert verify(first).is_whole
    assert verify(kept.newest).is_whole
    assert (kept.data / page.relative_to(kept.folder.root) / "title/title.txt").read_text() == "another"


def test_files_of_a_page_that_are_not_as_listed_are_named(kept: Kept) -> None:
    whole, emptied, cut, gone, garbled = finished_page(kept, *(f"http://{name}.test/" for name in "abcde"))
    assert whole.is_dir()
    (emptied / "title/title.txt").unlink()
    (cut / "screenshot/page.png").write_text("cut")
    shutil.rmtree(gone)
    (garbled / "hashes/hashes.json").write_text("garbage")
    summary = kept.back_up()
    expected = [emptied / "title/title.txt", cut / "screenshot/page.png"]
    expected += [gone / "hashes/hashes.json", garbled / "hashes/hashes.json"]
    assert summary.damaged == sorted(str(path.relative_to(kept.folder.root)) for path in expected)
    assert verify(kept.newest).is_whole, "it was made of what is there"


def test_a_listed_file_of_another_content_is_found_by_verify_and_when_read_again(kept: Kept) -> None:
    (page,) = finished_page(kept, "http://a.test/")
    name = str((page / "title/title.txt").relative_to(kept.folder.root))
    content, before = (page / "title/title.txt").read_text(), (page / "title/title.txt").stat()
    (page / "title/title.txt").write_text(content.swapcase())
    assert kept.back_up().damaged == [name], "it is newer than the list"
    os.utime(page / "title/title.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert kept.back_up().damaged == []
    assert verify(kept.newest).changed == [f"data/{name}"]
    assert kept.back_up(reread=True).damaged == [name]
    assert verify(kept.newest).is_whole


def test_holes_stay_holes_in_the_backup_and_after_a_restore(kept: Kept, tmp_path: Path) -> None:
    sparse = kept.write("sources/sparse", b"begin")
    with sparse.open("r+b") as file:
        file.truncate(64 * MEGABYTE)
        file.seek(32 * MEGABYTE)
        file.write(b"middle")
    content = sparse.read_bytes()
    kept.back_up()
    assert restore(kept.newest, DataFolder(tmp_path / "restored")).is_whole
    for copy in (kept.data / "sources/sparse", tmp_path / "restored/sources/sparse"):
        assert copy.read_bytes() == content
        assert copy.stat().st_blocks * 512 < 4 * MEGABYTE


def test_sealed_pages_that_are_worked_on_meanwhile_are_named(kept: Kept) -> None:
    """One that is open, or was not there before, is no such page: after a restore it is archived again."""
    finished_page(kept, *(f"http://{name}.test/" for name in "abcd"))
    arrange(Snapshot.objects.filter(url="http://d.test/"), status="queued")

    def work(_summary: object) -> None:
        arrange(Snapshot.objects.filter(url="http://a.test/"), status="queued")
        Snapshot.objects.filter(url="http://b.test/").update(sealed_at=timezone.now())
        Snapshot.objects.filter(url="http://d.test/").update(sealed_at=timezone.now())

    named = kept.back_up(on_progress=work).changed_meanwhile
    keys = Snapshot.objects.filter(url__in=["http://a.test/", "http://b.test/"]).values_list("pk", flat=True)
    assert named == sorted(map(str, keys))
