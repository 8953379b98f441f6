"""The kill matrix: whatever a hook does to get away, its tree ends with it."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from archivebox.lib.processes import PORTABLE, ProcessIdentity, Tree, orphans, reap_orphans, wait
from tests.unit.lib.processes.starting import LIMIT, Starter

HEAD = """
import os, signal, subprocess, sys, time
def left(*pids):
    os.write(int(sys.argv[1]), (" ".join(map(str, pids)) + "\\n").encode())
"""
DOUBLE = """
out = subprocess.check_output(["bash", "-c", "setsid sleep 300 > /dev/null & echo $!"])
left(int(out))
"""

SHAPES = {
    "plain child": "p = subprocess.Popen(['sleep', '300']); left(p.pid); time.sleep(300)",
    "own session": "p = subprocess.Popen(['sleep', '300'], start_new_session=True); left(p.pid); time.sleep(300)",
    "double fork, hook gone": DOUBLE,
    "double fork, hook stays": DOUBLE + "time.sleep(300)",
    "ignores TERM": (
        "signal.signal(15, signal.SIG_IGN)\n"
        "p = subprocess.Popen(['sleep', '300'], restore_signals=False); left(p.pid); time.sleep(300)"
    ),
    "child without a mark in our session, hook gone": ("p = subprocess.Popen(['sleep', '300'], env={}); left(p.pid)"),
    "hundred children": (
        "ps = [subprocess.Popen(['sleep', '300']) for _ in range(100)]\nleft(*[p.pid for p in ps]); time.sleep(300)"
    ),
}

DAEMON = """
import os, signal, sys, time
signal.signal(15, signal.SIG_IGN)
os.setsid()
os.write(int(sys.argv[1]), b"x")
until = time.monotonic() + 4  # longer, and their dead use up the system's pids where nobody buries them at once
while time.monotonic() < until:
    if os.fork():
        os._exit(0)
    time.sleep(0.002)
open(sys.argv[0] + ".outlived", "w").close()
"""


@contextmanager
def reaping() -> Iterator[None]:
    """Reap what is reparented to this process all the while, as a worker does."""
    over = threading.Event()

    def reap() -> None:
        while not over.wait(0.02):
            reap_orphans(None)

    thread = threading.Thread(target=reap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        reap_orphans(None)


def tree_of(starter: Starter, body: str) -> tuple[Tree, list[ProcessIdentity]]:
    """A started shape, and the processes that it left behind."""
    child, pids = starter.until_ready(HEAD + body)
    left = [identity for pid in pids if (identity := ProcessIdentity.of(pid)) is not None]
    assert len(left) == len(pids)
    return Tree(root=child.identity, process_id=child.process_id, data_dir=starter.folder), left


def assert_sees(tree: Tree, left: list[ProcessIdentity]) -> None:
    """All of ``left`` are members; one that passes execve just now bears no mark for some microseconds."""
    for _ in range(200):
        if set(left) <= tree.members():
            return
        time.sleep(0.005)
    assert set(left) <= tree.members()


def living(left: list[ProcessIdentity]) -> list[ProcessIdentity]:
    return [identity for identity in left if identity.is_alive() and not identity.is_zombie()]


def survivors(left: list[ProcessIdentity]) -> list[ProcessIdentity]:
    """Those that live on. On the portable path a mark alone tells who belongs here; one that is dying has given that
    back with its memory, and is a zombie a moment later.
    """
    until = time.monotonic() + LIMIT
    while PORTABLE and living(left) and time.monotonic() < until:
        time.sleep(0.01)
    return living(left)


def end_blocking(tree: Tree) -> bool:
    return tree.end_blocking(grace=0.3)


def end_on_loop(tree: Tree) -> bool:
    return asyncio.run(tree.end(grace=0.3))


@pytest.mark.parametrize("end", [end_blocking, end_on_loop])
@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_of_a_tree_survives_its_end(starter: Starter, shape: str, end: Callable[[Tree], bool]) -> None:
    if PORTABLE and "without a mark" in shape:
        pytest.skip("an orphan without a mark goes to pid 1, with nothing to tell it by")
    tree, left = tree_of(starter, SHAPES[shape])
    if "gone" in shape:
        wait(starter.children[0], LIMIT)
    assert_sees(tree, left)
    assert end(tree)
    assert survivors(left) == []
    assert tree.members() == set()


def test_daemons_that_fork_every_two_milliseconds_and_ignore_term_are_caught(starter: Starter) -> None:
    script = starter.folder / "daemon.py"
    script.write_text(DAEMON)
    body = (
        f"reading, writing = os.pipe()\nargv = [{sys.executable!r}, '-S', {str(script)!r}, str(writing)]\n"
        "for _ in range(3):\n    subprocess.Popen(argv, pass_fds=(writing,))\n    os.read(reading, 1)\n"
        "left(os.getpid())"
    )
    with reaping():  # else 500 zombies a second use up the system's pids
        tree, _ = tree_of(starter, body)
        wait(starter.children[0], LIMIT)
        assert tree.end_blocking(grace=0.1)
        assert tree.members() == set()
    if not PORTABLE:  # there a look takes longer than they live
        assert not script.with_suffix(".py.outlived").exists()
    assert not [
        process for process in psutil.process_iter(["cmdline"]) if str(script) in (process.info["cmdline"] or [])
    ]


@pytest.mark.skipif(PORTABLE, reason="there is no subreaper on this path")
def test_a_double_fork_without_environment_is_seen_as_a_stray(starter: Starter) -> None:
    body = (
        "script = '/usr/bin/setsid /bin/bash -c \\'echo $$; exec /bin/sleep 300 > /dev/null\\' &'\n"
        "left(int(subprocess.check_output(['env', '-i', '/bin/bash', '-c', script])))"
    )
    tree, left = tree_of(starter, body)
    wait(starter.children[0], LIMIT)
    try:
        assert tree.end_blocking(grace=0.3)
        assert living(left) == left
        assert set(left) <= orphans()
    finally:
        for stray in left:
            stray.signal(signal.SIGKILL)


def test_a_tree_without_root_is_found_by_its_mark(starter: Starter) -> None:
    tree, left = tree_of(starter, SHAPES["double fork, hook stays"])
    by_mark = Tree(root=None, process_id=tree.process_id, data_dir=starter.folder)
    assert_sees(by_mark, left)
    assert by_mark.end_blocking(grace=0.3)
    assert survivors(left) == []


def test_other_hooks_and_other_folders_are_left_alone(starter: Starter, tmp_path: Path) -> None:
    tree, _ = tree_of(starter, SHAPES["double fork, hook gone"])
    other, others = tree_of(starter, SHAPES["double fork, hook stays"])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    env = dict(os.environ) | {"ARCHIVEBOX_PROCESS_ID": tree.process_id, "DATA_DIR": str(elsewhere)}
    script = "setsid sleep 300 >/dev/null & echo $!"
    stranger = ProcessIdentity.of(int(subprocess.check_output(["bash", "-c", script], env=env)))
    assert stranger is not None
    try:
        assert tree.end_blocking(grace=0.3)
        assert living([*others, stranger]) == [*others, stranger]
        assert other.end_blocking(grace=0.3)
        assert survivors(others) == []
    finally:
        stranger.signal(signal.SIGKILL)
        reap_orphans(None)


@pytest.mark.skipif(PORTABLE, reason="it is about the kernel's own list")
def test_all_children_are_seen_when_their_list_is_longer_than_a_page(cold: Starter) -> None:
    """The kernel gives a list of children in parts of 4 KB, about 700 pids."""
    body = "ps = [subprocess.Popen(['sleep', '300']) for _ in range(900)]\nleft(len(ps)); time.sleep(300)"
    child, (count,) = cold.until_ready(HEAD + body)
    tree = Tree(root=child.identity, process_id=child.process_id, data_dir=cold.folder)
    assert count == 900
    assert len(tree.members()) == count + 1
    assert tree.end_blocking(grace=20)
    assert tree.members() == set()


def test_term_gives_a_hook_its_grace(starter: Starter) -> None:
    body = "signal.signal(15, lambda *_: (print('tidied up'), sys.exit(0))); left(os.getpid()); time.sleep(300)"
    tree, _ = tree_of(starter, body)
    assert tree.end_blocking(grace=20)
    child = starter.children[0]
    assert wait(child, LIMIT).exit_code == 0
    assert (starter.folder / f"{child.process_id}.out").read_text() == "tidied up\n"
