"""Identity is exact: no stranger is ever taken for a process of ours, or signalled."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from archivebox.lib.processes import PORTABLE, ProcessIdentity, Tree, portable, wait
from tests.unit.lib.processes.starting import LIMIT, Starter

LAST_PID = Path("/proc/sys/kernel/ns_last_pid")


def test_current_process_has_an_identity_that_lives() -> None:
    here = ProcessIdentity.current()
    assert here == ProcessIdentity.of(os.getpid())
    assert here.is_alive()
    assert not here.is_zombie()


def test_no_process_no_identity(cold: Starter) -> None:
    child = cold.hook("#!/bin/bash\n")
    wait(child, LIMIT)
    child.reap()
    assert not child.identity.is_alive()
    assert not child.identity.signal(signal.SIGTERM)
    assert child.identity.open_pidfd() is None


@pytest.mark.skipif(PORTABLE, reason="a look reaps there")
def test_a_zombie_is_alive_until_it_is_reaped(cold: Starter) -> None:
    child = cold.hook("#!/bin/bash\n")
    wait(child, LIMIT)
    assert child.identity.is_alive()
    assert child.identity.is_zombie()
    child.reap()
    assert not child.identity.is_alive()


THREAD_OUTLIVES_FIRST = """
import ctypes, platform, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
print("ready", flush=True)
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)  # exit(2): of this thread alone
"""


@pytest.mark.skipif(PORTABLE, reason="there it is not known")
def test_a_process_exits_when_its_last_thread_does(cold: Starter) -> None:
    ended = cold.hook("#!/bin/bash\n")
    wait(ended, LIMIT)
    assert ended.identity.is_exiting()
    with subprocess.Popen([sys.executable, "-c", THREAD_OUTLIVES_FIRST], stdout=subprocess.PIPE) as popen:
        assert popen.stdout is not None
        popen.stdout.readline()
        identity = ProcessIdentity.of(popen.pid)
        assert identity is not None
        while b"\nState:\tZ" not in Path(f"/proc/{popen.pid}/status").read_bytes():
            time.sleep(0.01)
        assert not identity.is_exiting()
        popen.kill()
        popen.wait()
        assert identity.is_exiting()


@pytest.mark.parametrize("change", [{"boot_id": "another"}, {"pid_ns": 1}, {"start_ticks": 1}])
def test_same_pid_is_not_enough(cold: Starter, change: dict[str, str | int]) -> None:
    child = cold.hook("#!/bin/bash\nsleep 60")
    stranger = ProcessIdentity(**{**child.identity._asdict(), **change})
    assert not stranger.is_alive()
    assert not stranger.signal(signal.SIGKILL)
    assert stranger.open_pidfd() is None
    assert child.peek() is None


@pytest.mark.skipif(not LAST_PID.exists(), reason="psutil reads /proc on Linux alone")
def test_a_step_of_the_clock_makes_nobody_a_stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel tells the time of the boot by today's clock; the portable path does not rest on it."""
    before = portable.inspect(os.getpid())
    told = Path("/proc/stat").read_text().replace("btime ", "btime 1")
    (tmp_path / "stat").write_text(told)
    (tmp_path / str(os.getpid())).symlink_to(f"/proc/{os.getpid()}")
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    assert psutil.boot_time() > 1e10
    assert portable.inspect(os.getpid()) == before


def test_its_age_is_the_time_that_it_runs(cold: Starter) -> None:
    child = cold.hook("#!/bin/bash\nsleep 60")
    assert 0 <= child.identity.age() <= LIMIT, "by the clock that the kernel counts starts by"
    assert ProcessIdentity.current().age() > child.identity.age()
    assert child.identity._replace(boot_id="another").age() == float("inf")


def reuse(pid: int) -> "subprocess.Popen[bytes] | None":
    """A stranger that got ``pid``, in a session of its own; None: somebody else was quicker, and has it."""
    while not Path(f"/proc/{pid}").exists():
        LAST_PID.write_text(str(pid - 1))
        stranger = subprocess.Popen(["/bin/sleep", "60"], start_new_session=True)
        if stranger.pid == pid:
            return stranger
        stranger.kill()
        stranger.wait()
    return None


def may_choose_pids() -> bool:
    """Its mode says that anybody may write it; the kernel asks for CAP_CHECKPOINT_RESTORE."""
    try:
        LAST_PID.write_text(LAST_PID.read_text())
    except OSError:
        return False
    return True


@pytest.mark.skipif(not may_choose_pids(), reason="the next pid cannot be chosen here")
def test_a_stranger_with_our_old_pid_lives(cold: Starter) -> None:
    stranger = None
    while stranger is None:
        child = cold.hook("#!/bin/bash\nexit 0")
        wait(child, LIMIT)
        child.reap()
        time.sleep(0.02)  # two clock ticks
        stranger = reuse(child.identity.pid)
    try:
        assert ProcessIdentity.of(stranger.pid) != child.identity
        assert not child.identity.is_alive()
        assert not child.identity.signal(signal.SIGKILL)
        tree = Tree(root=child.identity, process_id=child.process_id, data_dir=cold.folder)
        assert tree.members() == set()
        assert tree.end_blocking(grace=0.1)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


ALONE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")
"""A pid namespace of one's own, where anybody may choose the next pid: user_namespaces(7)."""


def may_be_alone() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(may_choose_pids() or not may_be_alone(), reason="pids can be chosen here, or not even there")
def test_a_stranger_with_our_old_pid_lives_in_a_namespace_of_its_own() -> None:
    test = f"{__file__}::{test_a_stranger_with_our_old_pid_lives.__name__}"
    command = [*ALONE, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
