"""Which paths of the server may be named by who is not at its terminal."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from archivebox.config.settings import DATA_FOLDER
from archivebox.hooks.registry import forget_environment
from archivebox.imports.page import NotReadableError
from archivebox.imports.sources import checked_path

pytestmark = pytest.mark.django_db
Allow = Callable[[object], None]


@pytest.fixture
def allow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Allow]:
    def set_import_dir(value: object) -> None:
        monkeypatch.setenv("IMPORT_DIR", str(value))
        forget_environment()

    yield set_import_dir
    monkeypatch.undo()
    forget_environment()


@pytest.fixture
def root(tmp_path: Path, allow: Allow) -> Path:
    allowed = tmp_path / "allowed"
    (allowed / "old").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    allow(allowed)
    return allowed


def refusal(path: Path | str) -> str:
    with pytest.raises(NotReadableError) as caught:
        checked_path(str(path))
    return str(caught.value)


def test_what_lies_in_the_allowed_folder_may_be_named(root: Path) -> None:
    (root / "link").symlink_to(root / "old")
    (root / "one.warc").touch()
    assert checked_path(f"{root}/link/../old") == checked_path(f"{root}/link") == root / "old"
    assert checked_path(f"{root}/one.warc") == root / "one.warc"


def test_what_lies_elsewhere_may_not_and_nobody_learns_whether_it_is_there(root: Path) -> None:
    (root / "link").symlink_to(root.parent / "secret")
    (root / "absent").symlink_to(root.parent / "absent")
    for path in (root / "link", root / "absent", root / "../secret", root.parent / "absent", "/", "/etc/passwd"):
        assert "is not in" in refusal(path)


def test_an_empty_setting_allows_nothing(root: Path, allow: Allow) -> None:
    allow("")
    assert "IMPORT_DIR is empty" in refusal(root)


def test_the_collection_itself_and_the_system_may_never_be_named(tmp_path: Path, allow: Allow) -> None:
    allow("/")
    own = DATA_FOLDER.root
    own.mkdir(parents=True, exist_ok=True)
    (tmp_path / "link").symlink_to(own)
    elsewhere = tmp_path / "disk" / "users"
    elsewhere.mkdir(parents=True)
    (own / "a-link").symlink_to(elsewhere)
    try:
        for path in (own, own / "users", own.parent, "/", tmp_path / "link", elsewhere, elsewhere.parent):
            assert "is part of this collection" in refusal(path)
    finally:
        (own / "a-link").unlink()
    for path in ("/proc", "/proc/1/fd", "/sys", "/dev/null"):
        assert "of the system" in refusal(path)


def test_what_is_no_path_or_cannot_be_read_is_refused_with_a_sentence(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "loop").symlink_to(root / "loop")
    for path, words in (
        ("old", "whole path"), ("~/old", "whole path"), ("", "whole path"), (f"{root}/a\0b", "whole path"),
        (root / "absent", "Nothing was found at"), (root / "pipe", "neither a folder nor"),
        (root / "loop", "leads nowhere"), (root / ("a" * 300), "Nothing was found at"),
    ):  # fmt: skip
        assert words in refusal(path)
