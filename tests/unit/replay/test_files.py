import os
from pathlib import Path

import pytest

from archivebox.replay.files import NotThereError, list_folder, open_beneath, parse_range, split_path


def test_names_are_decoded_once_and_dots_are_refused() -> None:
    assert split_path("a/b%20c/%25") == ["a", "b c", "%"]
    assert split_path("//a//") == ["a"]
    for path in ("..", "a/../b", "%2e%2e", ".", "a%00", ".hooks/x"):
        with pytest.raises(NotThereError):
            split_path(path)


def test_links_are_never_followed_wherever_they_are(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "file.txt").write_text("x")
    (tmp_path / "folder").symlink_to(tmp_path / "inside")
    (tmp_path / "file").symlink_to(tmp_path / "inside" / "file.txt")
    for names in (["folder"], ["folder", "file.txt"], ["file"]):
        with pytest.raises(NotThereError):
            open_beneath(tmp_path, names)
    opened = open_beneath(tmp_path, ["inside", "file.txt"])
    assert (opened.size, opened.mimetype, opened.is_folder) == (1, "text/plain", False)
    os.close(opened.descriptor)


def test_no_descriptor_is_left_open_by_what_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for names in (["pipe"], ["none"], ["none", "x"], ["pipe", "x"]):
        with pytest.raises(NotThereError):
            open_beneath(tmp_path, names)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_listing_has_folders_first_and_no_links(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.txt").write_text("12")
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / ".hooks").mkdir()
    opened = open_beneath(tmp_path, [])
    entries = [(entry.name, entry.is_folder, entry.size) for entry in list_folder(opened.descriptor)]
    os.close(opened.descriptor)
    assert entries == [("b", True, 0), ("a.txt", False, 2)]


@pytest.mark.parametrize(
    ("header", "part"),
    [
        ("bytes=0-0", (0, 1)), ("bytes=-5", (5, 10)), ("bytes=-50", (0, 10)), ("bytes=3-", (3, 10)),
        ("BYTES=2-4", (2, 5)), ("bytes=", None), ("bytes=-", None), ("bytes=a-b", None), ("bytes=4-2", None),
        ("bytes=0-1,2-3", None), ("", None), ("bytes=1-\u0664", None),
    ],
)  # fmt: skip
def test_ranges(header: str, part: tuple[int, int] | None) -> None:
    assert parse_range(header, 10) == part


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=99-100", "bytes=-0"])
def test_ranges_beyond_the_end_are_errors(header: str) -> None:
    with pytest.raises(ValueError, match="beyond the end"):
        parse_range(header, 10)
