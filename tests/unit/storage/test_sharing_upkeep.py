"""Stored bodies that no page has are deleted, and copies become links, without any page losing a byte."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from archivebox.storage.shared_bodies import linked_name, stored_path
from archivebox.storage.sharing_upkeep import StorageReport, collect_garbage, hard_link_problem, link_copies

BODY = b"a body that pages have in common"
DIGEST = sha256(BODY).hexdigest()


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
    assert link_copies(users) == StorageReport(files=2, bytes=2 * len(BODY))
    assert all(page_file(users, page).samefile(stored(users)) for page in ("one", "two", "three"))
    assert not page_file(users, "four").samefile(stored(users))
    assert page_file(users, "four").samefile(stored(users, "y"))
    assert link_copies(users) == StorageReport()


def test_what_differs_in_one_byte_and_symbolic_links_are_left_alone(users: Path) -> None:
    page_file(users, "one").write_bytes(BODY[:-1] + b"!")
    page_file(users, "two").unlink()
    (page_file(users, "one").parents[2] / "two" / "warc" / linked_name(DIGEST)).symlink_to(page_file(users, "three"))
    stored(users).parent.mkdir(parents=True)
    stored(users).write_bytes(BODY)
    assert link_copies(users).files == 1
    assert page_file(users, "one").read_bytes() != BODY
    assert page_file(users, "two").is_symlink()
    assert page_file(users, "three").samefile(stored(users))


def test_only_what_no_page_has_is_deleted(users: Path) -> None:
    link_copies(users)
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
