"""A browser that was started ahead: handed to the hook of a crawl, and ended with whoever has it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from archivebox.plugins.base.programs import descendants
from archivebox.plugins.base.tab import Tab
from tests.plugins_bundled.browser.chain import CRAWL_HOOK, PATIENCE, PLUGINS, Crawl, wait_for_end
from tests.site.serve import Site

NOT_WANTED = 3
pytestmark = [pytest.mark.browser, pytest.mark.once]


class Spare:
    """A browser that waits, and our end of the socket that leads to it."""

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl
        self.hook: subprocess.Popen[bytes] | None = None
        self.holder, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = self.start("chrome/spare.py", crawl.root / "run" / "spare" / "chrome", theirs)
        self.holder.settimeout(PATIENCE)
        assert self.holder.recv(64) == b"ready"
        (self.browser,) = (pid for pid in descendants(self.process.pid) if self._is_browser(pid))

    def start(self, script: str, cwd: Path, way: socket.socket, **settings: str) -> subprocess.Popen[bytes]:
        cwd.mkdir(parents=True, exist_ok=True)
        env = self.crawl.environment(**settings, SPARE_SOCKET=str(way.fileno()))
        command = [sys.executable, str(PLUGINS / script), "--crawl-id=c1"]
        with (cwd / "stdout.log").open("wb") as out, (cwd / "stderr.log").open("wb") as err:
            return subprocess.Popen(
                command, cwd=cwd, env=env, stdout=out, stderr=err, pass_fds=[way.fileno()], start_new_session=True
            )

    def _is_browser(self, pid: int) -> bool:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        return b"--remote-debugging-pipe" in words and b"--type=" not in words

    def hand_over(self, **settings: str) -> dict[str, Any]:
        """Start the hook of a crawl, which may take it; returns the session of that."""
        folder = self.crawl.folder / "chrome"
        self.hook = self.start(CRAWL_HOOK, folder, self.holder, **settings)
        self.holder.close()
        stdout = folder / "stdout.log"
        while '"Ready"' not in stdout.read_text():
            assert self.hook.poll() is None, (folder / "stderr.log").read_text()
        return self.crawl.session()

    def all_gone(self) -> bool:
        return wait_for_end(self.browser, PATIENCE) and self.process.wait(PATIENCE) is not None

    def end(self) -> None:
        self.holder.close()
        for process in (self.hook, self.process):
            if process is not None and process.poll() is None:
                process.terminate()
                process.wait(PATIENCE)


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path, TIMEOUT="30")


@pytest.fixture
def spare(crawl: Crawl) -> Iterator[Spare]:
    made = Spare(crawl)
    yield made
    made.end()
    for left in crawl.browser_processes():  # of a browser that was killed the children leave a moment later
        assert wait_for_end(left, PATIENCE)


def test_the_hook_of_a_crawl_uses_it_and_nothing_of_it_is_left(spare: Spare, crawl: Crawl, site: Site) -> None:
    session = spare.hand_over()
    assert session["pid"] == spare.browser
    snapshot = crawl.snapshot("snapshot", site.url.rstrip("/") + "/colour")
    assert snapshot.navigate().status == "succeeded"
    assert snapshot.close().status == "succeeded"
    assert spare.hook is not None
    spare.hook.terminate()
    assert spare.hook.wait(PATIENCE) == 0
    assert spare.all_gone()
    assert spare.process.returncode == 0
    assert not crawl.browser_processes()
    assert not Path(session["folder"]).exists()
    assert not (crawl.folder / "chrome" / "session.json").exists()


def test_the_first_page_alone_has_the_tab_that_was_opened_ahead(spare: Spare, crawl: Crawl, site: Site) -> None:
    spare.hand_over()
    opened = (crawl.folder / "chrome" / "first_tab").read_text()
    pages = [crawl.snapshot(name, f"{site.url}colour") for name in ("one", "two")]
    assert [page.navigate().status for page in pages] == ["succeeded", "succeeded"]
    tabs = [Tab.attach(str(page.folder / "chrome"), read_only=True) for page in pages]
    assert [tab.target_id == opened for tab in tabs] == [True, False]
    assert tabs[0].evaluate("history.length") == tabs[1].evaluate("history.length")
    assert pages[0].close().status == "succeeded"
    assert opened not in crawl.targets()


def test_the_tab_that_was_opened_ahead_closes_with_its_holder(spare: Spare, crawl: Crawl, site: Site) -> None:
    spare.hand_over()
    page = crawl.snapshot("one", f"{site.url}colour").open_tab()
    target = page.json("chrome/target.json")["target_id"]
    assert page.tab is not None
    page.tab.process.kill()
    deadline = time.monotonic() + PATIENCE
    while target in crawl.targets() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert target not in crawl.targets()


def test_it_ends_when_nobody_is_at_the_other_end(spare: Spare, crawl: Crawl) -> None:
    spare.holder.close()
    assert spare.all_gone()
    assert spare.process.returncode == 0
    assert not list(crawl.temporary.glob("archivebox-chrome-*"))


@pytest.mark.parametrize("killed", ["process", "browser"])
def test_a_hook_starts_its_own_where_the_spare_was_killed(spare: Spare, killed: str) -> None:
    os.kill(spare.browser if killed == "browser" else spare.process.pid, signal.SIGKILL)
    assert spare.all_gone()
    assert spare.hand_over()["pid"] != spare.browser


def test_a_hook_starts_its_own_where_the_spare_does_not_answer(spare: Spare) -> None:
    os.kill(spare.process.pid, signal.SIGSTOP)
    assert spare.hand_over()["pid"] != spare.browser
    os.kill(spare.process.pid, signal.SIGCONT)
    assert spare.all_gone()


def test_a_hook_with_other_settings_starts_its_own(spare: Spare) -> None:
    assert spare.hand_over(CHROME_RESOLUTION="800,600")["pid"] != spare.browser
    assert spare.all_gone()


def test_a_browser_without_its_parent_ends_and_its_hook_says_so(spare: Spare) -> None:
    spare.hand_over()
    spare.process.kill()
    assert spare.all_gone()
    assert spare.hook is not None
    assert spare.hook.wait(PATIENCE) == 1


def test_it_ends_with_a_hook_that_is_killed(spare: Spare, crawl: Crawl) -> None:
    spare.hand_over()
    assert spare.hook is not None
    spare.hook.kill()
    assert spare.all_gone()
    assert not list(crawl.temporary.glob("archivebox-chrome-*"))


def test_it_ends_where_all_others_are_killed_at_once(spare: Spare) -> None:
    spare.hand_over()
    assert spare.hook is not None
    os.kill(spare.process.pid, signal.SIGKILL)
    os.kill(spare.hook.pid, signal.SIGKILL)
    assert spare.all_gone()


def test_nothing_is_started_ahead_on_a_profile_of_somebody(crawl: Crawl, tmp_path: Path) -> None:
    (tmp_path / "personas" / "Ann" / "profile").mkdir(parents=True)
    crawl.settings |= {"PERSONAS_DIR": str(tmp_path / "personas"), "ACTIVE_PERSONA": "Ann"}
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    env = crawl.environment(SPARE_SOCKET=str(theirs.fileno()))
    with ours, theirs:
        command = [sys.executable, str(PLUGINS / "chrome/spare.py")]
        assert subprocess.run(command, env=env, pass_fds=[theirs.fileno()], check=False).returncode == NOT_WANTED
    assert not crawl.browser_processes()
