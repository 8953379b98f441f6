"""A change of a watched file is told, whether the kernel tells or a poll finds it."""

import os
import selectors
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from archivebox.lib.file_watch import ATTRIB, CLOSE_WRITE, DELETE, FileWatcher
from archivebox.lib.processes import PORTABLE

POLLS = [True, pytest.param(False, marks=pytest.mark.skipif(PORTABLE, reason="no inotify"))]
MASK = ATTRIB | CLOSE_WRITE | DELETE


@pytest.fixture(params=POLLS)
def watcher(request: pytest.FixtureRequest) -> FileWatcher:
    return FileWatcher(0.02, polls=request.param)


def test_a_file_that_is_touched_has_changed_once(watcher: FileWatcher, tmp_path: Path) -> None:
    file = tmp_path / "bell"
    file.touch()
    watcher.add(file, MASK)
    assert watcher.changed() == []
    os.utime(file, ns=(1, 1))
    assert watcher.changed() == [str(file)]
    assert watcher.changed() == []
    watcher.close()


@pytest.mark.parametrize("how", ["removed", "replaced", "moved away", "removed while open", "made later"])
def test_a_file_that_another_takes_the_place_of_is_watched_on(watcher: FileWatcher, tmp_path: Path, how: str) -> None:
    file, other = tmp_path / "bell", tmp_path / "other"
    file.touch()
    other.touch()
    watcher.add(file, ATTRIB)
    with file.open("rb") if how == "removed while open" else nullcontext():
        if how == "replaced":
            other.rename(file)
        elif how == "moved away":
            file.rename(tmp_path / "elsewhere")
        else:
            file.unlink()
        if how == "made later":
            watcher.changed()
        file.touch()
    assert watcher.changed() == [str(file)]
    for moment in (1, 2):
        os.utime(file, ns=(moment, moment))
        assert watcher.changed() == [str(file)]
    (tmp_path / "stranger").touch()
    assert watcher.changed() == []
    watcher.close()


def test_files_of_a_folder_are_told_by_name(watcher: FileWatcher, tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    watcher.add(tmp_path, MASK)
    (tmp_path / "new").write_text("x")
    (tmp_path / "old").unlink()
    assert set(watcher.changed()) == {str(tmp_path / "new"), str(tmp_path / "old")}
    watcher.close()


@pytest.mark.skipif(PORTABLE, reason="no inotify")
def test_when_more_has_changed_than_the_kernel_remembers_all_may_have(tmp_path: Path) -> None:
    watcher, most = FileWatcher(0.02), int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for name in ("one", "other", "last"):
        (tmp_path / name).touch()
    watcher.add(tmp_path, ATTRIB)
    for number in range(most + 1):
        os.utime(tmp_path / ("one", "other")[number % 2])
    os.utime(tmp_path / "last")
    told: set[str] = set()
    while changed := watcher.changed():
        told.update(changed)
    assert str(tmp_path / "last") in told
    watcher.close()


def test_what_was_let_go_is_not_told(watcher: FileWatcher, tmp_path: Path) -> None:
    watcher.add(tmp_path, MASK)
    watcher.remove(tmp_path)
    (tmp_path / "new").write_text("x")
    assert watcher.changed() == []
    watcher.add(tmp_path, MASK)
    watcher.unwatch_all()
    (tmp_path / "newer").write_text("x")
    assert watcher.changed() == []
    watcher.close()


def test_a_folder_made_anew_is_watched_again(watcher: FileWatcher, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    watcher.add(folder, MASK)
    folder.rmdir()
    folder.mkdir()
    watcher.add(folder, MASK)
    (folder / "log").write_text("x")
    assert str(folder / "log") in watcher.changed()
    watcher.close()


def test_who_waits_wakes_up_for_a_change_and_for_others(watcher: FileWatcher, tmp_path: Path) -> None:
    watcher.add(tmp_path, MASK)
    (tmp_path / "new").write_text("x")
    assert watcher.wait(60.0) == set()
    readable, write_end = os.pipe()
    os.write(write_end, b".")
    assert watcher.wait(60.0, readable) == {readable}
    for descriptor in (readable, write_end):
        os.close(descriptor)
    watcher.close()


def test_a_selector_sleeps_no_longer_than_until_the_next_look(watcher: FileWatcher, tmp_path: Path) -> None:
    watcher.add(tmp_path, MASK)
    with selectors.DefaultSelector() as selector:
        watcher.register(selector)
        (tmp_path / "new").write_text("x")
        deadline = time.monotonic() + 60.0
        while not watcher.changed() and time.monotonic() < deadline:
            selector.select(watcher.at_most(60.0))
    assert time.monotonic() < deadline
    watcher.close()
