"""A folder that is renewed: what has it open, or as its working directory, writes into what nobody sees."""

import hashlib
import os
from pathlib import Path

from archivebox.storage.layout import HOOK_RUNS
from archivebox.storage.renewed_folders import renew_folder

BODY = b"shared by pages"
SHARED = f"shared-{hashlib.sha256(BODY).hexdigest()}.warc.gz"


def made(tmp_path: Path) -> Path:
    page = tmp_path / "page"
    (page / HOOK_RUNS).mkdir(parents=True)
    (page / "plugin" / "below").mkdir(parents=True)
    (page / "plugin" / "below" / "text").write_text("kept")
    (page / "plugin" / "link").symlink_to("below/text")
    (page / "plugin" / SHARED).write_bytes(BODY)
    return page


def test_everything_in_it_is_kept_and_nothing_else_is_left(tmp_path: Path) -> None:
    page = made(tmp_path)
    inode = (page / "plugin" / SHARED).stat().st_ino
    (page / HOOK_RUNS / "renewed").mkdir()  # left by a kill
    renew_folder(page, "plugin")
    assert (page / "plugin" / "link").is_symlink()
    assert (page / "plugin" / "link").read_text() == "kept"
    assert (page / "plugin" / SHARED).stat().st_ino == inode
    assert not list((page / HOOK_RUNS).iterdir())


def test_who_had_it_open_writes_into_what_nobody_sees(tmp_path: Path) -> None:
    page = made(tmp_path)
    folder = os.open(page / "plugin", os.O_RDONLY)
    with (page / "plugin" / "below" / "text").open("a") as text:
        renew_folder(page, "plugin")
        text.write(" and more")
    try:
        os.open("new", os.O_WRONLY | os.O_CREAT, dir_fd=folder)
    except FileNotFoundError:
        pass  # the folder is deleted
    finally:
        os.close(folder)
    assert (page / "plugin" / "below" / "text").read_text() == "kept"
    assert sorted(path.name for path in (page / "plugin").iterdir()) == ["below", "link", SHARED]


def test_a_link_to_elsewhere_is_left_alone(tmp_path: Path) -> None:
    page = made(tmp_path)
    (page / "other").symlink_to(tmp_path)
    renew_folder(page, "other")
    renew_folder(page, "none")
    assert (page / "other").is_symlink()
