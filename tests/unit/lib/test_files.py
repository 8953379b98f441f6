"""Files that a crash leaves whole, walks that stay inside, locks that end with their holder."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from archivebox.lib.files import (
    atomic_write,
    fsync_tree,
    iter_outputs,
    iter_statuses,
    locked,
    mimetype_of,
    remove_tree,
    walk_few,
    walk_outputs,
)


@pytest.mark.parametrize("durable", [False, True])
def test_a_write_replaces_the_whole_file_and_sets_its_mode(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "x.json"
    path.write_text("old and longer")
    atomic_write(path, "né", 0o600, durable=durable)
    assert path.read_bytes() == "né".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "full").write_text("")
    with pytest.raises(OSError, match="folder"):
        atomic_write(tmp_path / "folder", b"x")
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]
    with pytest.raises(FileNotFoundError):
        atomic_write(tmp_path / "missing" / "x", b"x")


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    atomic_write(path, b"x")
    assert path.read_bytes() == b"x"


@pytest.mark.parametrize(
    ("name", "mimetype"),
    [
        ("a.warc.gz", "application/warc"), ("A.WARC", "application/warc"), ("x.jsonl", "application/x-ndjson"),
        ("x.webp", "image/webp"), ("x.html", "text/html"), ("x.tar.gz", "application/gzip"),
        ("x.html.gz", "application/gzip"), ("x", "application/octet-stream"), (".html", "application/octet-stream"),
        ("x.unheard", "application/octet-stream"), ("x.mjs", "text/javascript"),
    ],
)  # fmt: skip
def test_a_name_speaks_of_a_type(name: str, mimetype: str) -> None:
    assert mimetype_of(name) == mimetype


def test_a_walk_lists_regular_files_and_never_leaves_the_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    folder = tmp_path / "folder"
    (folder / "b" / "deep").mkdir(parents=True)
    (folder / "b" / "deep" / "x.json").write_text("{}")
    (folder / "a.html").write_text("<p>")
    (folder / "empty").mkdir()
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    (folder / "linked").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    (folder / "dangling").symlink_to(tmp_path / "gone")
    os.mkfifo(folder / "pipe")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.bin")).write_bytes(b"123")
    assert [tuple(file)[:3] for file in walk_outputs(folder)] == [
        ("a.html", 3, "text/html"),
        ("b/deep/x.json", 2, "application/json"),
        ("\udcff.bin", 3, "application/octet-stream"),
    ]
    assert walk_outputs(tmp_path / "missing") == []
    assert [status.st_size for status in iter_statuses(folder)] == [file.size for file in iter_outputs(folder)]
    assert walk_few(folder, 20) == walk_outputs(folder)
    assert walk_few(folder, 5) is None  # folders and links are looked at, too


def test_a_tree_with_odd_things_in_it_is_made_durable(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x").write_text("x")
    (tmp_path / "a" / "link").symlink_to("/dev/null")
    (tmp_path / "a" / "linked").symlink_to("/proc")
    os.mkfifo(tmp_path / "a" / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        fsync_tree(tmp_path)
    assert [file.path for file in walk_outputs(tmp_path)] == ["a/b/x"]


@pytest.mark.slow
def test_no_tree_is_too_deep(tmp_path: Path) -> None:
    """Deeper than recursion goes, and than a path may be long."""
    folder = tmp_path / "tree"
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for depth in range(3000):
        os.close(os.open(str(depth), os.O_CREAT, dir_fd=here))
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert len(walk_outputs(folder)) > sys.getrecursionlimit()
    fsync_tree(folder)
    remove_tree(folder)
    assert not folder.exists()


def test_what_a_link_leads_to_is_not_removed(tmp_path: Path) -> None:
    for name in ("kept", "tree"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text("x")
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "kept")
    remove_tree(tmp_path / "tree")
    (tmp_path / "tree").symlink_to(tmp_path / "kept")
    with pytest.raises(OSError, match="tree"):
        remove_tree(tmp_path / "tree")
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["kept", "x", "tree"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_lock_has_one_holder(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "lock"
    if kind == "folder":
        path.mkdir()
    with locked(path) as first:
        assert first is not None
        with locked(path, blocking=False) as second:
            assert second is None
    with locked(path, blocking=False) as third:
        assert third is not None


def test_a_lock_ends_with_the_process_that_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    code = (
        "import sys; from pathlib import Path; from archivebox.lib.files import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with locked(path, blocking=False) as mine:
            assert mine is None
        holder.kill()
        with locked(path) as mine:
            assert mine is not None


def test_an_inherited_descriptor_keeps_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path) as held:
        assert held is not None
        heir = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(held,))
    with locked(path, blocking=False) as mine:
        assert mine is None
    heir.communicate()
    with locked(path, blocking=False) as mine:
        assert mine is not None
