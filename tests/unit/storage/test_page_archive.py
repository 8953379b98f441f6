import io
import os
import shutil
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from archivebox.storage import page_archive
from archivebox.storage.page_archive import (
    ArchiveDamagedError,
    FolderChangedError,
    PageArchive,
    StoredMember,
    checked,
    member_list,
    open_archive,
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
    with open_archive(folder, member_list(folder)) as archive:
        data = archive.read()
        assert len(data) == archive.size
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
    names = [member.name for member in member_list(page)]
    first = [".hooks/runs.jsonl", "dom/empty", os.fsdecode(b"dom/latin-\xe4"), "dom/none/", "dom/ä 日本.html"]
    assert names == [*first, "index.json", "link", "warc/a.warc.gz"]


def test_reading_from_any_position_gives_the_same_bytes(page: Path) -> None:
    data = archived(page)
    with open_archive(page, member_list(page)) as archive:
        for start in range(0, len(data), 997):
            archive.seek(start)
            assert archive.read(50) == data[start : start + 50]
        archive.seek(-10, io.SEEK_END)
        assert archive.read(100) == data[-10:]


def test_a_file_that_changes_meanwhile_is_noticed(page: Path) -> None:
    members = member_list(page)
    (page / "index.json").write_bytes(b"[]")
    with pytest.raises(FolderChangedError, match=r"index\.json"):
        open_archive(page, members)
    archive = open_archive(page, member_list(page))
    (page / "index.json").unlink()
    with archive, pytest.raises(FolderChangedError, match=r"index\.json"):
        archive.read()


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
        list(checked(warc, [data[warc.start : warc.stop - 1]]))
    for wrong in (b"", data[:-1], data[:-30], b"x" * 5000, data[:-6] + b"\xff\xff\xff\x7f" + data[-2:]):
        with pytest.raises(ArchiveDamagedError):
            directory(wrong)


@pytest.mark.parametrize(("size", "block"), [(0, 1), (1, 1), (2000, 1), (2001, 2), (4000, 2), (4001, 4), (20_000, 16)])
def test_the_hashes_of_a_file_of_any_size_have_room_in_its_entry(size: int, block: int) -> None:
    """Sizes in blocks of 256 KB."""
    member = StoredMember("large", size * page_archive.BLOCK, 0, 0, 0)
    assert member.block == block * page_archive.BLOCK
    assert -(-member.size // member.block) * 32 < 65_000


def test_more_than_four_gigabytes_and_65_535_members_are_read_by_others(tmp_path: Path) -> None:
    """A sparse file whose checksum is not computed."""
    size, crc = 5_000_000_000, 0
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(size)
    (tmp_path / "next").write_bytes(b"after")
    listed, next_file = member_list(tmp_path)
    head = page_archive._local_header("large", size, 0, crc)
    second = page_archive._local_header("next", 5, 0, 0x1234)
    members = [
        StoredMember("large", size, 0, crc, len(head)),
        StoredMember("next", 5, 0, 0x1234, len(head) + size + len(second)),
    ]
    archive = PageArchive(
        tmp_path,
        [head, listed, second, next_file, page_archive._directory(members, members[1].stop)],
        members,
    )

    def read_range(start: int, stop: int) -> bytes:
        archive.seek(start)
        return archive.read(stop - start)

    with archive:
        assert read_directory(read_range, archive.size) == members
        with zipfile.ZipFile(archive) as opened:
            assert [(each.filename, each.file_size) for each in opened.infolist()] == [("large", size), ("next", 5)]
            assert opened.getinfo("next").header_offset > 2**32
        assert read_range(members[1].start, members[1].stop) == b"after"


@pytest.mark.slow
def test_more_members_than_the_old_format_counts_are_read() -> None:
    members, position = [], 0
    heads = []
    for number in range(65_535):
        head = page_archive._local_header(str(number), 0, 0, 0)
        position += len(head)
        heads.append(head)
        members.append(StoredMember(str(number), 0, 0, 0, position))
    data = b"".join(heads) + page_archive._directory(members, position)
    assert directory(data) == members


def test_little_of_a_large_file_is_in_memory(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(20_000_000))
    tracemalloc.start()
    with open_archive(tmp_path, member_list(tmp_path)) as archive:
        while archive.read(100_000):
            pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_000_000


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
