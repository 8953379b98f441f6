"""Processes that write imported pages lose none when they are killed, and end with who started them."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from archivebox.imports.page import do_nothing
from archivebox.imports.page_files import PlannedFiles
from archivebox.imports.transfer import Transfer
from archivebox.imports.writing_pool import WritingPool
from archivebox.lib.batches import batches

HOLE = 64 << 30
"""Bytes of a file that takes longer to read than the test. It takes no disk."""
PARENT = """
import sys
from pathlib import Path
from archivebox.imports.page import do_nothing
from archivebox.imports.page_files import PlannedFiles
from archivebox.imports.transfer import Transfer
from archivebox.imports.writing_pool import WritingPool

root = Path(sys.argv[1])
pool = WritingPool(root / "keys", Transfer.LINK, do_nothing, has_processes=True)
for name in sys.argv[2:]:
    files = [("singlefile", [("singlefile.html", str(root / name), "")])]
    pool.write([PlannedFiles(str(root / f"to-{name}"), "0" * 32, "https://example.com/", False, files)])
"""


def planned(source: Path, target: Path) -> PlannedFiles:
    files = [("singlefile", [("singlefile.html", str(source), "")])]
    return PlannedFiles(str(target), "0" * 32, "https://example.com/", is_own=False, outputs=files)


def writers_of(pid: int) -> list[psutil.Process]:
    found = [one for one in psutil.Process(pid).children() if "archivebox.imports.writing_main" in one.cmdline()]
    return [one for one in found if one.status() != psutil.STATUS_ZOMBIE]


def stop(process: psutil.Process) -> None:
    process.suspend()
    while process.status() != psutil.STATUS_STOPPED:
        time.sleep(0.01)


def wait_for_file(path: Path) -> None:
    while not path.exists():
        time.sleep(0.01)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_text("<p>quince")
    return path


def test_pages_of_a_writer_that_is_killed_are_written_anew(tmp_path: Path, source: Path) -> None:
    targets = [tmp_path / f"page-{number}" for number in range(20)]
    with WritingPool(tmp_path / "keys", Transfer.COPY, do_nothing, has_processes=True) as pool:
        for target in targets[:2]:
            pool.result(pool.write([planned(source, target)]))
        writers = writers_of(os.getpid())
        assert len(writers) == 2
        for writer in writers:
            writer.suspend()
        asked = [pool.write([planned(source, target) for target in few]) for few in batches(targets, 7)]
        (targets[0] / "singlefile" / "half").write_text("left")
        for writer in writers:
            writer.kill()
        written = [one for future in asked for one in pool.result(future)]
        found = pool.result(pool.differences([(str(target), {}) for target in targets]))
    assert [(one.problem, len(one.hashes)) for one in written] == [("", 1)] * 20
    assert found == [([], [])] * 20
    for target in targets:
        assert sorted(path.name for path in (target / "singlefile").iterdir()) == ["singlefile.html"]
        assert (target / "singlefile/singlefile.html").read_text() == "<p>quince"
        assert (target / "hashes/signature.json").exists()
    assert writers_of(os.getpid()) == []


def test_what_waits_to_be_compared_comes_before_what_waits_to_be_written(tmp_path: Path, source: Path) -> None:
    ended = list[str]()
    with WritingPool(tmp_path / "keys", Transfer.COPY, do_nothing, has_processes=True) as pool:
        for number in range(2):
            pool.result(pool.write([planned(source, tmp_path / f"first-{number}")]))
        writers = writers_of(os.getpid())
        for writer in writers:
            stop(writer)
        writing = [pool.write([planned(source, tmp_path / f"page-{number}")]) for number in range(2)]
        while not all(future.running() for future in writing):
            time.sleep(0.01)
        writing += [pool.write([planned(source, tmp_path / f"page-{number}")]) for number in range(2, 4)]
        comparing = pool.differences([(str(tmp_path / "first-0"), {})])
        comparing.add_done_callback(lambda _: ended.append("compared"))
        for future in writing[2:]:
            future.add_done_callback(lambda _: ended.append("written"))
        writers[0].resume()
        for future in writing[2:]:
            pool.result(future)
        writers[1].resume()
    assert ended == ["compared", "written", "written"]


def test_a_stop_ends_the_writing_of_a_large_file(tmp_path: Path, source: Path) -> None:
    os.truncate(source, HOLE)
    is_stopped = False

    def stop() -> None:
        if is_stopped:
            raise InterruptedError

    with WritingPool(tmp_path / "keys", Transfer.LINK, stop, has_processes=True) as pool:
        future = pool.write([planned(source, tmp_path / "page")])
        wait_for_file(tmp_path / "page/singlefile/singlefile.html")
        is_stopped = True
        with pytest.raises(InterruptedError):
            pool.result(future)
        pool.cancel()
        assert writers_of(os.getpid()) == []
        is_stopped = False
        source.write_text("small")
        assert pool.result(pool.write([planned(source, tmp_path / "page")]))[0].problem == ""


def test_a_collection_that_cannot_be_written_to_is_said_as_in_one_process(tmp_path: Path, source: Path) -> None:
    with WritingPool(tmp_path / "keys", Transfer.COPY, do_nothing, has_processes=True) as pool:
        (tmp_path / "left").symlink_to(tmp_path)
        with pytest.raises(OSError, match="left") as raised:
            pool.result(pool.write([planned(source, tmp_path / "left")]))
    assert raised.value.errno in {errno.ELOOP, errno.ENOTDIR}


@pytest.mark.parametrize("has_work", [False, True], ids=["waiting", "reading"])
def test_writers_end_when_who_started_them_is_killed(tmp_path: Path, source: Path, has_work: bool) -> None:
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", HOLE)
    command = [sys.executable, "-c", PARENT, str(tmp_path), source.name, *(["large"] if has_work else [])]
    parent = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        last = "to-large" if has_work else f"to-{source.name}"
        wait_for_file(tmp_path / last / "singlefile/singlefile.html")
        writers = writers_of(parent.pid)
        assert writers
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    gone, alive = psutil.wait_procs(writers, timeout=60)
    assert (len(gone), alive) == (len(writers), [])
