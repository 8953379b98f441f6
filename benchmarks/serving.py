"""``archivebox server`` on a collection, for as long as something of it is measured."""

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import trees
from benchmarks.commands import ARCHIVEBOX, REPOSITORY, environment
from tests.webserver.server import free_ports

UP = 60.0


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that answers."""

    root: int
    """The pid of its command."""
    port: int
    replay_port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def web(self) -> int:
        """The pid of the web server; LookupError where there is none."""
        for pid in trees.members(self.root):
            if b"archivebox.web.server" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        raise LookupError("no web server runs")


@contextmanager
def serving(data: Path, **settings: str) -> Iterator[Serving]:
    """A server that has answered for the first time; it ends with the block."""
    port = free_ports()
    replay_port = port + 1
    env = environment(data, REPLAY_ADDR=f"127.0.0.1:{replay_port}", **settings)
    command = [*ARCHIVEBOX, "server", f"127.0.0.1:{port}"]
    log = data.parent / "server.log"  # its address for the first log-in is nothing to print
    with log.open("w") as file, subprocess.Popen(command, cwd=REPOSITORY, env=env, stdout=file, stderr=file) as one:
        try:
            wait_for_answer(f"http://127.0.0.1:{port}/", one)
            yield Serving(one.pid, port, replay_port)
        except (ChildProcessError, TimeoutError):
            sys.stderr.write(log.read_text()[-2000:])
            raise
        finally:
            one.terminate()


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
