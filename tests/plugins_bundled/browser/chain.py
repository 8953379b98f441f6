"""Runs the browser's hooks as the engine does: real processes, their own folders, the contract's environment."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Self

from archivebox.plugins.base.cdp import CDPConnection

PLUGINS = Path(__file__).parents[3] / "archivebox" / "plugins"
CHECKOUT = PLUGINS.parents[1]
CRAWL_HOOK = "chrome/on_Crawl__01_chrome.daemon.bg.py"
TAB_HOOK = "chrome/on_Snapshot__20_chrome_tab.daemon.bg.py"
RECORDER = "responses/on_Snapshot__24_responses.daemon.bg.py"
NAVIGATE = "chrome/on_Snapshot__30_navigate.py"
SETTLE = "chrome/on_Snapshot__49_settle.py"
PAGE_HOOKS = (
    "screenshot/on_Snapshot__51_screenshot.py",
    "pdf/on_Snapshot__52_pdf.py",
    "dom/on_Snapshot__53_dom.py",
    "title/on_Snapshot__54_title.py",
    "headers/on_Snapshot__55_headers.py",
    "favicon/on_Snapshot__11_favicon.bg.py",
    "parse_dom_outlinks/on_Snapshot__75_parse_dom_outlinks.py",
)
PATIENCE = 90.0  # seconds until a hook that still runs is a failed test


class Outcome:
    """What one run of a hook came to."""

    def __init__(self, code: int, stdout: str, stderr: str) -> None:
        self.code, self.stderr = code, stderr
        self.records: list[dict[str, Any]] = [json.loads(line) for line in stdout.splitlines() if line.startswith("{")]

    @property
    def result(self) -> dict[str, Any] | None:
        results = [record for record in self.records if record["type"] == "ArchiveResult"]
        return results[-1] if results else None

    @property
    def status(self) -> str | None:
        return self.result["status"] if self.result else None

    @property
    def retry(self) -> str | None:
        """What it said of trying again."""
        return self.result.get("retry") if self.result else None

    def __repr__(self) -> str:
        return f"exit {self.code}, {self.records}, {self.stderr[-2000:]}"


class Running:
    """A hook at work, with its output in files as the engine keeps it."""

    def __init__(self, hook: str, cwd: Path, env: dict[str, str], arguments: list[str]) -> None:
        cwd.mkdir(parents=True, exist_ok=True)
        logs = cwd.parent / ".hooks"
        logs.mkdir(exist_ok=True)
        mark = f"{Path(hook).name}.{time.monotonic_ns()}"
        self._stdout, self._stderr = logs / f"{mark}.stdout.log", logs / f"{mark}.stderr.log"
        with self._stdout.open("wb") as out, self._stderr.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, str(PLUGINS / hook), *arguments],
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def wait_until_ready(self) -> Self:
        return self.wait_until_said("Ready")

    def wait_until_said(self, kind: str) -> Self:
        deadline = time.monotonic() + PATIENCE
        while f'"{kind}"' not in self._stdout.read_text():
            assert self.process.poll() is None, self.outcome()
            assert time.monotonic() < deadline, f"never said {kind}"
            time.sleep(0.01)
        return self

    def wait(self) -> Outcome:
        self.process.wait(PATIENCE)
        return self.outcome()

    def stop(self) -> Outcome:
        self.process.terminate()
        return self.wait()

    def outcome(self) -> Outcome:
        code = self.process.poll()
        return Outcome(-999 if code is None else code, self._stdout.read_text(), self._stderr.read_text())

    def end_for_good(self) -> None:
        """Whatever a failed test left: the whole session."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)


class Crawl:
    """A crawl's folder and its browser."""

    def __init__(self, root: Path, **settings: str) -> None:
        self.root, self.folder = root, root / "crawl"
        # Short, because Chromium has a socket in it; gone with this object, entered or not.
        self._temporary = tempfile.TemporaryDirectory(prefix="t-", ignore_cleanup_errors=True)
        self.temporary = Path(self._temporary.name)
        self.settings = settings
        self.started: list[Running] = []
        self.browser: Running | None = None

    def environment(self, **more: str) -> dict[str, str]:
        base = {"PATH": os.environ["PATH"], "HOME": str(self.root), "LANG": "C.UTF-8", "PYTHONPATH": str(CHECKOUT)}
        folders = {"CRAWL_DIR": str(self.folder), "CRAWL_OUTPUT_DIR": str(self.folder), "TMPDIR": str(self.temporary)}
        return base | folders | self.settings | more

    def start(self, hook: str, owner: Path, *arguments: str, **settings: str) -> Running:
        running = Running(hook, owner / hook.split("/", maxsplit=1)[0], self.environment(**settings), list(arguments))
        self.started.append(running)
        return running

    def launch(self) -> dict[str, Any]:
        """Start the browser's hook and return its session file."""
        self.browser = self.start(CRAWL_HOOK, self.folder, "--crawl-id=c1").wait_until_ready()
        return self.session()

    def session(self) -> dict[str, Any]:
        session: dict[str, Any] = json.loads((self.folder / "chrome" / "session.json").read_text())
        return session

    def targets(self) -> set[str]:
        """What the browser has open, by its ids."""
        connection = CDPConnection.open(self.session()["socket"])
        infos = connection.call("Target.getTargets")["targetInfos"]
        connection.close()
        return {each["targetId"] for each in infos}

    def snapshot(self, name: str, url: str, **settings: str) -> Snapshot:
        return Snapshot(self, self.root / name, url, settings)

    def __enter__(self) -> Self:
        self.launch()
        return self

    def __exit__(self, *_: object) -> None:
        assert self.browser is not None
        if self.browser.process.poll() is None:
            self.browser.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.browser.process.wait(90)
        for running in self.started:
            if running.process.poll() is None:
                running.end_for_good()
        self._temporary.cleanup()

    def browser_processes(self) -> list[int]:
        """Processes whose command line names a folder of ours: every part of our Chromium has its folder there."""
        mark = str(self.temporary).encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    if mark in (entry / "cmdline").read_bytes():
                        found.append(int(entry.name))
        return found


class Snapshot:
    """A Snapshot's folder, with its tab while it is open."""

    def __init__(self, crawl: Crawl, folder: Path, url: str, settings: dict[str, str]) -> None:
        self.crawl, self.folder, self.url, self.settings = crawl, folder, url, settings
        self.arguments = (f"--url={url}", "--snapshot-id=s1", "--crawl-id=c1", "--depth=0")
        self.tab: Running | None = None

    def start(self, hook: str, **settings: str) -> Running:
        return self.crawl.start(hook, self.folder, *self.arguments, **(self.settings | settings))

    def run(self, hook: str, **settings: str) -> Outcome:
        return self.start(hook, **settings).wait()

    def open_tab(self) -> Self:
        self.tab = self.start(TAB_HOOK).wait_until_ready()
        return self

    def navigate(self) -> Outcome:
        return self.open_tab().run(NAVIGATE)

    def record(self) -> Running:
        """Open the tab and have all recorded that it gets."""
        self.open_tab()
        return self.start(RECORDER).wait_until_ready()

    def close(self) -> Outcome:
        assert self.tab is not None
        return self.tab.stop()

    def json(self, name: str) -> dict[str, Any]:
        record: dict[str, Any] = json.loads((self.folder / name).read_text())
        return record


def wait_for_end(pid: int, seconds: float) -> bool:
    """Wait for the end of any process; True when it is gone."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        ended = bool(selector.select(seconds))
    os.close(descriptor)
    return ended
