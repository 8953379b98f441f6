"""What ``archivebox server`` with two workers costs while nobody asks for anything.

CPU of all its processes (web server, supervisord, orchestrator, workers, fork servers) by the scheduler's clock over a
minute a round, and their memory, shared pages counted in equal parts to those who share them.
"""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks import trees
from benchmarks.commands import ARCHIVEBOX, REPOSITORY, collection, environment
from benchmarks.finding import Bound, Finding

WORKERS = 2
SETTLED = 15.0
"""Seconds after the first answer, in which the last imports are done and nothing is left to be swept."""
WINDOW = 60.0
UP = 60.0
PROGRAMS = 4 + WORKERS
"""The least number of processes: the command, supervisord, web server, orchestrator, and its workers."""


def run(rounds: int) -> list[Finding]:
    share = Finding("idle server, CPU share of a core", "%", Bound.MOST, 0.2, [])
    memory = Finding("idle server, proportional set size", "MB", Bound.MOST, 250, [])
    with server() as root:
        for _ in range(rounds):
            share.ours.append(measure_share(root))
            memory.ours.append(trees.proportional_set_size(root))
        share.notes = {"processes": str(len(list(trees.members(root))))}
    return [share, memory]


def measure_share(root: int) -> float:
    """Percent of one core over a window; LookupError if processes came or went, whose time would be lost."""
    before, start, pids = trees.scheduled(root), time.monotonic(), set(trees.members(root))
    time.sleep(WINDOW)
    used, seconds = trees.scheduled(root) - before, time.monotonic() - start
    if len(pids) < PROGRAMS or pids != set(trees.members(root)):
        raise LookupError("the server's processes are not all there, or changed while it was idle")
    return 100 * used / seconds


@contextmanager
def server() -> Iterator[int]:
    """An idle server; the pid of its command."""
    with collection() as data:
        port = free_port()
        env = environment(data, WORKERS=str(WORKERS), REPLAY_ADDR=f"127.0.0.1:{free_port()}")
        command = [*ARCHIVEBOX, "server", f"127.0.0.1:{port}"]
        log = data.parent / "server.log"  # its address for the first log-in is nothing to print
        with log.open("w") as file, subprocess.Popen(command, cwd=REPOSITORY, env=env, stdout=file, stderr=file) as one:
            try:
                wait_for_answer(f"http://127.0.0.1:{port}/", one)
                time.sleep(SETTLED)
                yield one.pid
            except (ChildProcessError, TimeoutError):
                sys.stderr.write(log.read_text()[-2000:])
                raise
            finally:
                one.terminate()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for_answer(url: str, popen: "subprocess.Popen[bytes]") -> None:
    """Until the server answers anything; TimeoutError after a minute, ChildProcessError if it has ended."""
    deadline = time.monotonic() + UP
    while time.monotonic() < deadline:
        if popen.poll() is not None:
            raise ChildProcessError(f"the server ended with {popen.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"{url} did not answer within a minute")
