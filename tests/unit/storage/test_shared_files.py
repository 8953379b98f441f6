"""Files that pages have in common: links are made, broken before a hook writes, and deleted, and no byte is lost."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from archivebox.cli.doctor import hard_link_problem
from archivebox.storage.layout import HOOK_RUNS
from archivebox.storage.shared_files import (
    LINKED_MIN,
    NOTE,
    StorageReport,
    collect_garbage,
    drop_links,
    linked_name,
    own_files,
    place_links,
    renew_folder,
    share_all_bodies,
    stage_links,
    stored_path,
)

BODY = b"a body that pages have in common"
DIGEST = sha256(BODY).hexdigest()
LARGE, OTHER = b"a" * LINKED_MIN, b"b" * LINKED_MIN


@pytest.fixture
def users(tmp_path: Path) -> Path:
    """Three pages of one owner and one of another, each with its own copy of a record."""
    for owner, page in (("x", "one"), ("x", "two"), ("x", "three"), ("y", "four")):
        folder = tmp_path / owner / "snapshots" / "20261126" / "a.example" / page / "warc"
        folder.mkdir(parents=True)
        (folder / linked_name(DIGEST)).write_bytes(BODY)
    return tmp_path


def page_file(users: Path, page: str) -> Path:
    (found,) = users.glob(f"*/snapshots/*/*/{page}/warc/shared-*")
    return found


def stored(users: Path, owner: str = "x") -> Path:
    return Path(stored_path(str(users / owner / ".shared"), DIGEST))


def test_copies_of_one_owner_become_links(users: Path) -> None:
    assert share_all_bodies(users) == StorageReport(files=2, bytes=2 * len(BODY))
    assert all(page_file(users, page).samefile(stored(users)) for page in ("one", "two", "three"))
    assert not page_file(users, "four").samefile(stored(users))
    assert page_file(users, "four").samefile(stored(users, "y"))
    assert share_all_bodies(users) == StorageReport()


def test_what_differs_in_one_byte_and_symbolic_links_are_left_alone(users: Path) -> None:
    page_file(users, "one").write_bytes(BODY[:-1] + b"!")
    page_file(users, "two").unlink()
    (page_file(users, "one").parents[2] / "two" / "warc" / linked_name(DIGEST)).symlink_to(page_file(users, "three"))
    stored(users).parent.mkdir(parents=True)
    stored(users).write_bytes(BODY)
    assert share_all_bodies(users).files == 1
    assert page_file(users, "one").read_bytes() != BODY
    assert page_file(users, "two").is_symlink()
    assert page_file(users, "three").samefile(stored(users))


def test_only_what_no_page_has_is_deleted(users: Path) -> None:
    share_all_bodies(users)
    left = stored(users).with_name(f".{stored(users).name}.1.tmp")
    os.link(stored(users), left)
    for page in ("one", "two"):
        page_file(users, page).unlink()
    assert collect_garbage(users) == StorageReport()
    assert not left.exists()
    page_file(users, "three").unlink()
    assert collect_garbage(users) == StorageReport(files=1, bytes=len(BODY))
    assert not stored(users).exists()
    assert page_file(users, "four").read_bytes() == BODY


def test_where_no_links_can_be_made_the_reason_is_said(tmp_path: Path) -> None:
    assert hard_link_problem(tmp_path) == ""
    assert list(tmp_path.iterdir()) == []
    assert hard_link_problem(tmp_path / "absent") == "No such file or directory"


def version(folder: Path, **files: bytes) -> Path:
    """A page with a plugin's folder; `__` in a name is a slash."""
    for name, data in files.items():
        path = folder / "media" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def link_outputs(former: Path, latest: Path, plugins: set[str], **digests: str) -> set[str]:
    listed = {f"media/{name}": digest for name, digest in digests.items()}
    return place_links(former, latest, stage_links(former, latest, plugins, listed))


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_of_the_same_path_become_links(tmp_path: Path) -> None:
    former = version(tmp_path / "former", picture=LARGE, deep__picture=LARGE, small=b"a", gone=LARGE)
    latest = version(tmp_path / "latest", picture=OTHER, deep__picture=OTHER, small=b"b", new=OTHER)
    assert link_outputs(former, latest, {"media", "absent"}) == {"media"}
    for name in ("picture", "deep/picture"):
        assert (latest / "media" / name).samefile(former / "media" / name)
    assert (latest / "media" / "small").read_bytes() == b"b"
    assert (latest / "media" / "new").read_bytes() == OTHER
    assert names_in(latest / "media") == ["deep", "new", "picture", "small"]
    note = (latest / NOTE).read_text()
    assert link_outputs(former, latest, {"media"}) == {"media"}, "after a kill"
    assert (latest / NOTE).read_text() == note
    assert names_in(latest / ".hooks") == []


def test_what_is_not_as_its_version_has_hashed_it_is_not_linked(tmp_path: Path) -> None:
    former = version(tmp_path / "former", picture=LARGE, damaged=LARGE)
    latest = version(tmp_path / "latest", picture=OTHER, damaged=OTHER)
    digests = {"picture": sha256(LARGE).hexdigest(), "damaged": sha256(OTHER).hexdigest()}
    assert link_outputs(former, latest, {"media"}, **digests) == {"media"}
    assert (latest / "media" / "picture").samefile(former / "media" / "picture")
    assert (latest / "media" / "damaged").read_bytes() == OTHER
    assert (former / "media" / "damaged").stat().st_nlink == 1


def test_own_files_are_copies_of_the_same_bytes(tmp_path: Path) -> None:
    former, latest = version(tmp_path / "former", picture=LARGE), version(tmp_path / "latest", picture=OTHER)
    link_outputs(former, latest, {"media"})
    own_files(former, "media")
    (former / "media" / "picture").write_bytes(b"changed")
    assert (latest / "media" / "picture").read_bytes() == LARGE
    own_files(latest, "absent")


def test_shared_bodies_stay_links(tmp_path: Path) -> None:
    """Nothing writes into them: who packs a page again replaces them."""
    page, name = tmp_path / "page", linked_name("ab" * 32)
    (page / "warc").mkdir(parents=True)
    (page / "warc" / name).write_bytes(LARGE)
    os.link(page / "warc" / name, tmp_path / "stored")
    own_files(page, "warc")
    assert (page / "warc" / name).samefile(tmp_path / "stored")


def test_a_version_has_its_own_files_until_links_are_put_in_place(tmp_path: Path) -> None:
    former, latest = version(tmp_path / "former", picture=LARGE), version(tmp_path / "latest", picture=OTHER)
    assert stage_links(former, latest, {"media"}, {}) == ["media/picture"]
    assert (latest / "media" / "picture").read_bytes() == OTHER
    assert (former / "media" / "picture").stat().st_nlink == 2
    drop_links(latest)
    assert (former / "media" / "picture").stat().st_nlink == 1
    assert names_in(latest / ".hooks") == []


def test_nothing_is_linked_through_a_symbolic_link(tmp_path: Path) -> None:
    secret = version(tmp_path / "secret", picture=LARGE)
    former, latest = version(tmp_path / "former", other=LARGE), version(tmp_path / "latest", picture=OTHER)
    (former / "media" / "picture").symlink_to(secret / "media" / "picture")
    assert link_outputs(former, latest, {"media"}) == set()
    (tmp_path / "third").mkdir()
    (tmp_path / "third" / "media").symlink_to(secret / "media")
    assert link_outputs(tmp_path / "third", latest, {"media"}) == set()
    assert (latest / "media" / "picture").read_bytes() == OTHER


def test_on_another_disk_files_stay_as_they_are(tmp_path: Path) -> None:
    """EXDEV."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK) or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system")
    latest = version(tmp_path / "latest", picture=OTHER)
    with TemporaryDirectory(dir=memory) as elsewhere:
        former = version(Path(elsewhere), picture=LARGE)
        assert link_outputs(former, latest, {"media"}) == set()
    assert (latest / "media" / "picture").read_bytes() == OTHER
    assert not (latest / NOTE).exists()


def made(tmp_path: Path) -> Path:
    page = tmp_path / "page"
    (page / HOOK_RUNS).mkdir(parents=True)
    (page / "plugin" / "below").mkdir(parents=True)
    (page / "plugin" / "below" / "text").write_text("kept")
    (page / "plugin" / "link").symlink_to("below/text")
    (page / "plugin" / linked_name(DIGEST)).write_bytes(BODY)
    return page


def test_everything_in_it_is_kept_and_nothing_else_is_left(tmp_path: Path) -> None:
    page = made(tmp_path)
    inode = (page / "plugin" / linked_name(DIGEST)).stat().st_ino
    (page / HOOK_RUNS / "renewed").mkdir()  # left by a kill
    renew_folder(page, "plugin")
    assert (page / "plugin" / "link").is_symlink()
    assert (page / "plugin" / "link").read_text() == "kept"
    assert (page / "plugin" / linked_name(DIGEST)).stat().st_ino == inode
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
    assert sorted(path.name for path in (page / "plugin").iterdir()) == ["below", "link", linked_name(DIGEST)]


def test_a_link_to_elsewhere_is_left_alone(tmp_path: Path) -> None:
    page = made(tmp_path)
    (page / "other").symlink_to(tmp_path)
    renew_folder(page, "other")
    renew_folder(page, "none")
    assert (page / "other").is_symlink()
