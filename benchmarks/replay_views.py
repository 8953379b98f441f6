"""What a view of a recorded page costs the server: one of 5 MB that was rewritten before, and the largest that is
rewritten at each view.

The server is a process of its own, so that its memory and its processor time are its alone.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import psutil

from archivebox.replay import capability
from archivebox.replay.addresses import ReplayContext
from archivebox.replay.capability import Purpose
from archivebox.replay.rewritten import LARGE_DOCUMENT
from benchmarks.finding import Bound, Finding
from benchmarks.replay import ask, listener
from tests.webserver.recording import Page, pack_recording, record

URL = "http://a.example/"
HOST = "00000000-0000-0000-0000-000000000001"
LINE = b'<p><a href="/next">Next</a> some words of a paragraph <img src="p.png"> <a href="http://b.example/">B</a>\n'
LARGE = 5_000_000
MB = 1_000_000
SERVE = "import django; django.setup(); from benchmarks.replay_views import serve; serve()"


def run(rounds: int) -> list[Finding]:
    return [
        *_of_page(rounds, LARGE, "of a rewritten page of 5 MB"),
        *_of_page(rounds, LARGE_DOCUMENT, "of the largest page rewritten at each view"),
    ]


def _of_page(rounds: int, size: int, name: str) -> list[Finding]:
    memory = Finding(f"peak memory of a view {name}", "MB", Bound.MOST, 10, [], quantile=1.0)
    seconds = Finding(f"processor time of a view {name}", "s", Bound.MOST, 0.2, [])
    with tempfile.TemporaryDirectory() as folder:
        snapshot = Path(folder) / "snapshot"
        body = b"<!doctype html><meta charset=utf-8><title>L</title>"
        record(snapshot, {URL: Page(body + LINE * ((size - len(body)) // len(LINE)))})
        pack_recording(snapshot)
        with served(snapshot) as (server, port):
            view(port)
            for _ in range(rounds):
                before, cpu = server.memory_info().rss, sum(server.cpu_times()[:2])
                Path(f"/proc/{server.pid}/clear_refs").write_text("5")  # the peak begins anew (proc(5))
                view(port)
                memory.ours.append((peak(server.pid) - before) / MB)
                seconds.ours.append(sum(server.cpu_times()[:2]) - cpu)
    return [memory, seconds]


def view(port: int) -> None:
    place = ReplayContext(
        capability.grant(UUID(HOST), "public", Purpose.FILES), "http://127.0.0.1:8000", "20261122090000"
    )
    status, body = ask(port, place.address(URL), f"{HOST}.localhost")
    assert status == 200, body[:200]


def peak(process: int) -> int:
    """Bytes of memory that a process had at most since its peak began anew."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


@contextmanager
def served(snapshot: Path) -> Iterator[tuple[psutil.Process, int]]:
    """The replay listener of one snapshot, in a process of its own, and its port."""
    command = [sys.executable, "-c", SERVE, str(snapshot)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        port = int(server.stdout.readline())
        yield psutil.Process(server.pid), port
        server.stdin.close()


def serve() -> None:
    """Serve the snapshot of a folder until the input ends."""
    with listener({UUID(HOST): Path(sys.argv[1])}) as port:
        print(port, flush=True)
        sys.stdin.read()
