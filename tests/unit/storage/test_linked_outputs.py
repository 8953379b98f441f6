"""A version has links to files of the one before, and gets files of its own before anything writes to them."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from archivebox.storage.linked_outputs import LINKED_MIN, NOTE, drop_links, own_files, place_links, stage_links
from archivebox.storage.shared_bodies import linked_name

LARGE, OTHER = b"a" * LINKED_MIN, b"b" * LINKED_MIN


def version(folder: Path, **files: bytes) -> Path:
    """A page with a plugin's folder; `__` in a name is a slash."""
    for name, data in files.items():
        path = folder / "media" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def link_outputs(former: Path, latest: Path, plugins: set[str]) -> set[str]:
    return place_links(former, latest, stage_links(former, latest, plugins))


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
    assert stage_links(former, latest, {"media"}) == ["media/picture"]
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
