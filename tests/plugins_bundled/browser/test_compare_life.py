"""The browser that measures replays leaves nothing behind, however it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.plugins_bundled.browser.chain import CHECKOUT, PLUGINS

pytestmark = pytest.mark.browser


@contextmanager
def measuring(temporary: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The script, once its browser is there."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(temporary),
            "PYTHONPATH": str(CHECKOUT),
            "TMPDIR": str(temporary),
        }
        command = [sys.executable, str(PLUGINS / "chrome" / "compare.py"), str(theirs.fileno())]
        with subprocess.Popen(command, env=env, pass_fds=[theirs.fileno()], stderr=subprocess.DEVNULL) as script:
            try:
                theirs.close()
                ours.settimeout(90)
                with ours.makefile("rb") as lines:
                    assert any(b'"Ready"' in line for line in lines), script.wait(90)
                yield script
            finally:
                script.terminate()
            script.wait(30)


def users_of(folder: Path) -> list[int]:
    """Processes whose command names a folder, as that of a browser names its profile."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if any(str(folder) in word for word in process.info["cmdline"] or ())
    ]


def test_a_folder_that_a_killed_one_left_goes_with_the_next() -> None:
    with tempfile.TemporaryDirectory(prefix="t-", ignore_cleanup_errors=True) as name:  # short: it has a socket in it
        temporary = Path(name)
        with measuring(temporary) as script:
            (left,) = temporary.glob("archivebox-*")
            script.send_signal(signal.SIGKILL)
            script.wait(30)
        assert left.is_dir()
        deadline = time.monotonic() + 60
        while users_of(left) and time.monotonic() < deadline:  # its browser ends when it finds its pipe closed
            time.sleep(0.05)
        with measuring(temporary):
            assert not left.exists()
            assert len(list(temporary.glob("archivebox-*"))) == 1
        assert not list(temporary.glob("archivebox-*"))
