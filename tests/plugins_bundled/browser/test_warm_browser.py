"""A browser that is launched before its crawl is there: taken by the crawl, and ended when nobody wants it."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from archivebox.plugins.base.programs import descendants
from tests.plugins_bundled.browser.chain import CRAWL_HOOK, PATIENCE, PLUGINS, Crawl, wait_for_end
from tests.site.serve import Site

pytestmark = [pytest.mark.browser, pytest.mark.once]


class Warm:
    """The hook of a crawl that is not there yet, and our end of the socket at which it waits."""

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl
        self.way, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        folder = crawl.root / "run" / "warm" / "chrome"
        folder.mkdir(parents=True)
        self.stdout = folder / "stdout.log"
        env = crawl.environment(WARM_SOCKET=str(theirs.fileno()))
        command, fds = [sys.executable, str(PLUGINS / CRAWL_HOOK)], [theirs.fileno()]
        with theirs, self.stdout.open("wb") as out, (folder / "stderr.log").open("wb") as err:
            self.hook = subprocess.Popen(
                command, cwd=folder, env=env, stdout=out, stderr=err, pass_fds=fds, start_new_session=True
            )  # fmt: skip
        self.way.settimeout(PATIENCE)

    def wait(self) -> int:
        """Until it waits: the pid of its browser."""
        assert self.way.recv(64) == b"."
        return next(pid for pid in descendants(self.hook.pid) if self._is_browser(pid))  # its children fork as itself

    def _is_browser(self, pid: int) -> bool:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        return b"--remote-debugging-pipe" in words and b"--type=" not in words

    def hand_over(self) -> dict[str, Any]:
        """Tell it of its crawl; returns the session of that."""
        folder = self.crawl.folder / "chrome"
        folder.mkdir(parents=True)
        call = {"argv": ["--crawl-id=c1"], "cwd": str(folder), "env": self.crawl.environment()}
        self.way.send(json.dumps(call).encode())
        self.way.close()
        while '"Ready"' not in self.stdout.read_text():
            assert self.hook.poll() is None, self.stdout.read_text()
        return self.crawl.session()

    def end(self) -> None:
        self.way.close()
        if self.hook.poll() is None:
            self.hook.terminate()
            self.hook.wait(PATIENCE)


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path, TIMEOUT="30")


@pytest.fixture
def warm(crawl: Crawl) -> Iterator[Warm]:
    made = Warm(crawl)
    yield made
    made.end()
    for left in crawl.browser_processes():  # of a browser that was killed the children leave a moment later
        assert wait_for_end(left, PATIENCE)


def test_its_crawl_uses_it_and_nothing_of_it_is_left(warm: Warm, crawl: Crawl, site: Site) -> None:
    browser = warm.wait()
    session = warm.hand_over()
    assert session["pid"] == browser
    snapshot = crawl.snapshot("snapshot", site.url.rstrip("/") + "/colour")
    assert snapshot.navigate().status == "succeeded"
    assert snapshot.close().status == "succeeded"
    warm.hook.terminate()
    assert warm.hook.wait(PATIENCE) == 0
    assert not crawl.browser_processes()
    assert not Path(session["folder"]).exists()
    assert not (crawl.folder / "chrome" / "session.json").exists()


@pytest.mark.parametrize("has_said_that_it_waits", [False, True])
def test_a_crawl_that_comes_before_it_was_heard_to_wait_gets_it(warm: Warm, has_said_that_it_waits: bool) -> None:
    if has_said_that_it_waits:
        select.select([warm.way], [], [], PATIENCE)
    assert warm.hand_over()["pid"] in descendants(warm.hook.pid)


@pytest.mark.parametrize("ended_by", ["nobody at the other end", "TERM", "KILL", "death of the browser"])
def test_it_ends_without_a_crawl_and_leaves_nothing(warm: Warm, crawl: Crawl, ended_by: str) -> None:
    browser = warm.wait()
    codes = {"nobody at the other end": 1, "TERM": 0, "KILL": -signal.SIGKILL, "death of the browser": 1}
    match ended_by:
        case "nobody at the other end":
            warm.way.close()
        case "death of the browser":
            os.kill(browser, signal.SIGKILL)
        case name:
            os.kill(warm.hook.pid, signal.Signals[f"SIG{name}"])
    assert warm.hook.wait(PATIENCE) == codes[ended_by]
    assert wait_for_end(browser, PATIENCE)
    assert ended_by == "KILL" or not list(crawl.temporary.glob("archivebox-chrome-*"))


def test_it_ends_with_a_crawl_that_is_killed(warm: Warm) -> None:
    browser = warm.wait()
    warm.hand_over()
    warm.hook.kill()
    assert wait_for_end(browser, PATIENCE)


def test_none_is_launched_ahead_on_a_profile_of_somebody(crawl: Crawl, tmp_path: Path) -> None:
    (tmp_path / "personas" / "Ann" / "profile").mkdir(parents=True)
    crawl.settings |= {"PERSONAS_DIR": str(tmp_path / "personas"), "ACTIVE_PERSONA": "Ann"}
    warm = Warm(crawl)
    assert warm.hook.wait(PATIENCE) == 1
    assert not crawl.browser_processes()
    warm.end()


def test_a_crawl_whose_persona_has_got_a_profile_meanwhile_has_its_own(crawl: Crawl, tmp_path: Path) -> None:
    crawl.settings |= {"PERSONAS_DIR": str(tmp_path / "personas"), "ACTIVE_PERSONA": "Default"}
    warm = Warm(crawl)
    browser = warm.wait()
    (tmp_path / "personas" / "Default" / "profile").mkdir(parents=True)
    assert warm.hand_over()["pid"] != browser
    assert wait_for_end(browser, PATIENCE)
    warm.end()
