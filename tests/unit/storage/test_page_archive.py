import hashlib
import io
import os
import shutil
import tracemalloc
import zipfile
from collections.abc import Callable
from copy import copy
from pathlib import Path

import pytest

from archivebox.storage import page_archive
from archivebox.storage.page_archive import (
    ArchiveDamagedError,
    BlockReader,
    FolderChangedError,
    PageArchive,
    StoredMember,
    block_size,
    checked,
    read_directory,
    unpack,
)

WRITTEN_AT = 1_700_000_001


@pytest.fixture
def page(tmp_path: Path) -> Path:
    folder = tmp_path / "page"
    files = {
        "index.json": b"{}",
        "warc/a.warc.gz": bytes(range(256)) * 3000,
        "dom/ä 日本.html": b"<p>",
        "dom/empty": b"",
    }
    for name, data in {**files, ".hooks/runs.jsonl": b"[]\n", os.fsdecode(b"dom/latin-\xe4"): b"1"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        os.utime(folder / name, (WRITTEN_AT, WRITTEN_AT))
    (folder / "index.json").chmod(0o640)
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "dom" / "none").mkdir()
    return folder


def archived(folder: Path) -> bytes:
    archive = PageArchive(folder)
    data = b"".join(archive.blocks())
    assert (len(data), hashlib.sha256(data).hexdigest()) == (archive.size, archive.sha256)
    assert read_directory(ranges(data, []), len(data), archive.directory) == directory(data)
    return data


def ranges(data: bytes, asked: list[tuple[int, int]]) -> Callable[[int, int], bytes]:
    def read_range(start: int, stop: int) -> bytes:
        asked.append((start, stop))
        return data[start:stop]

    return read_range


def directory(data: bytes) -> list[StoredMember]:
    return read_directory(ranges(data, []), len(data))


def files_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), int(path.stat().st_mtime))
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def test_other_programs_read_the_archive(page: Path, tmp_path: Path) -> None:
    (tmp_path / "page.zip").write_bytes(archived(page))
    with zipfile.ZipFile(tmp_path / "page.zip") as opened:
        assert opened.testzip() is None
        assert opened.read("warc/a.warc.gz") == (page / "warc/a.warc.gz").read_bytes()
        assert {info.compress_type for info in opened.infolist()} == {zipfile.ZIP_STORED}
        assert opened.getinfo("index.json").date_time == (2023, 11, 14, 22, 13, 20)
        assert "dom/ä 日本.html" in opened.namelist()


def test_the_same_files_give_the_same_bytes(page: Path, tmp_path: Path) -> None:
    shutil.copytree(page, tmp_path / "copy", symlinks=True)
    assert archived(tmp_path / "copy") == archived(page)


def test_what_is_unpacked_is_what_was_archived_and_gives_the_same_archive(page: Path, tmp_path: Path) -> None:
    data = archived(page)
    unpack(tmp_path / "again", directory(data), (data[at : at + 1000] for at in range(0, len(data), 1000)))
    assert files_of(tmp_path / "again") == files_of(page)
    assert (tmp_path / "again" / "link").readlink() == Path("/etc/passwd")
    assert (tmp_path / "again" / "index.json").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "again" / "dom" / "none").is_dir()
    assert archived(tmp_path / "again") == data


def test_a_folder_without_files_is_an_archive_without_members(tmp_path: Path) -> None:
    data = archived(tmp_path)
    assert directory(data) == []
    assert zipfile.ZipFile(io.BytesIO(data)).namelist() == []


def test_one_member_is_one_range(page: Path) -> None:
    data = archived(page)
    for member in directory(data):
        path = page / member.name
        expected = b"/etc/passwd" if path.is_symlink() else b"" if path.is_dir() else path.read_bytes()
        assert data[member.start : member.stop] == expected


def test_names_are_in_the_order_of_their_bytes(page: Path) -> None:
    names = [member.name for member in directory(archived(page))]
    first = [".hooks/runs.jsonl", "dom/empty", os.fsdecode(b"dom/latin-\xe4"), "dom/none/", "dom/ä 日本.html"]
    assert names == [*first, "index.json", "link", "warc/a.warc.gz"]


@pytest.mark.parametrize("change", [lambda path: path.write_bytes(b"[1]"), lambda path: path.unlink()])
@pytest.mark.parametrize("name", ["index.json", "dom/empty"])
def test_a_file_that_changes_meanwhile_is_noticed(page: Path, name: str, change: Callable[[Path], object]) -> None:
    archive = PageArchive(page)
    change(page / name)
    with pytest.raises(FolderChangedError, match=name):
        list(archive.blocks())


def test_the_directory_of_few_members_is_read_at_once_and_that_of_many_in_two_ranges(
    page: Path, tmp_path: Path
) -> None:
    asked: list[tuple[int, int]] = []
    data = archived(page)
    read_directory(ranges(data, asked), len(data))
    assert len(asked) == 1
    many = tmp_path / "many"
    many.mkdir()
    for number in range(1_200):
        (many / f"{number:05}").touch()
    data = archived(many)
    asked.clear()
    assert len(read_directory(ranges(data, asked), len(data))) == 1_200
    assert len(asked) == 2


def test_damage_is_noticed(page: Path, tmp_path: Path) -> None:
    data = archived(page)
    members = directory(data)
    warc = next(member for member in members if member.name.endswith(".gz"))
    damaged = data[: warc.start] + b"x" + data[warc.start + 1 :]
    with pytest.raises(ArchiveDamagedError, match=r"a\.warc\.gz"):
        unpack(tmp_path / "again", members, [damaged])
    with pytest.raises(ArchiveDamagedError, match=r"a\.warc\.gz"):
        list(checked(warc, BlockReader([data[warc.start : warc.stop - 1]])))
    for wrong in (b"", data[:-1], data[:-30], b"x" * 5000, data[:-6] + b"\xff\xff\xff\x7f" + data[-2:]):
        with pytest.raises(ArchiveDamagedError):
            directory(wrong)


@pytest.mark.parametrize(("size", "block"), [(0, 1), (1, 1), (2000, 1), (2001, 2), (4000, 2), (4001, 4), (20_000, 16)])
def test_the_hashes_of_a_file_of_any_size_have_room_in_its_entry(size: int, block: int) -> None:
    """Sizes in blocks of 256 KB."""
    assert block_size(size * page_archive.BLOCK) == block * page_archive.BLOCK
    assert -(-size // block) * 32 < 65_000


@pytest.mark.slow
@pytest.mark.parametrize("size", [2_100_000_000, 5_000_000_000])
def test_files_of_more_than_two_and_four_gigabytes_are_read_by_others(tmp_path: Path, size: int) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(size)
    (tmp_path / "next").write_bytes(b"after")
    sparse, position = tmp_path.with_name(f"{tmp_path.name}.zip"), 0
    archive = PageArchive(tmp_path)
    with sparse.open("wb") as file:
        for block in archive.blocks():
            position += len(block)
            if any(block):
                file.seek(position - len(block))
                file.write(block)

    with sparse.open("rb") as written:

        def read_range(start: int, stop: int) -> bytes:
            written.seek(start)
            return written.read(stop - start)

        members = read_directory(read_range, archive.size, archive.directory)
        assert [(each.name, each.size) for each in members] == [("large", size), ("next", 5)]
        assert read_range(members[1].start, members[1].stop) == b"after"
        with zipfile.ZipFile(written) as opened:
            assert [(each.filename, each.file_size) for each in opened.infolist()] == [("large", size), ("next", 5)]
            assert opened.read("next") == b"after"


@pytest.mark.slow
def test_more_members_than_the_old_format_counts_are_read(tmp_path: Path) -> None:
    for number in range(65_540):
        (tmp_path / str(number)).touch()
    assert len(directory(archived(tmp_path))) == 65_540


def test_little_of_a_large_file_is_in_memory(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(20_000_000))
    tracemalloc.start()
    for _ in PageArchive(tmp_path).blocks():
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_000_000


def test_an_archive_without_descriptors_is_read(page: Path) -> None:
    """As pages were stored before: each member follows the former one at once."""
    data, expected = archived(page), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(expected, "w") as other:
        for info in archive.infolist():
            with other.open(copy(info), "w") as target:
                target.write(archive.read(info))
    assert not any(info.flag_bits & 8 for info in zipfile.ZipFile(expected).infolist())
    for member, same in zip(directory(expected.getvalue()), directory(data), strict=True):
        assert expected.getvalue()[member.start : member.stop] == data[same.start : same.stop]
        assert member[1:3] == same[1:3]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    for folder, name in (("one", "a"), ("two", "a/b")):
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True)
        path.symlink_to("/tmp")
    data = [archived(tmp_path / folder) for folder in ("one", "two")]
    first, second = (directory(each)[0] for each in data)
    moved = second._replace(start=second.start + len(data[0]))
    with pytest.raises(ArchiveDamagedError):
        unpack(tmp_path / "again", [first, moved], data)
