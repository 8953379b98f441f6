"""Runs the hooks of programs that fetch for themselves, with the real programs, against the local web."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from archivebox.contract.discovery import BUNDLED
from tests.loopback import serving
from tests.programs import Programs

PATIENCE = 100.0
RUNNERS = {".py": sys.executable, ".sh": "/bin/bash"}


@dataclass(frozen=True)
class Run:
    """What one run of a hook came to."""

    code: int
    records: list[dict[str, Any]]
    stderr: str
    folder: Path

    @property
    def status(self) -> str:
        """`later` where it failed for now."""
        return str(self.result.get("retry") or self.result["status"])

    @property
    def result(self) -> dict[str, Any]:
        (result,) = [record for record in self.records if record["type"] == "ArchiveResult"]
        return result

    @property
    def commands(self) -> list[list[str]]:
        return [record["cmd"] for record in self.records if record["type"] == "Process" and "exit_code" in record]

    @property
    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())


class Page:
    """A page's folder, and the hooks of one plugin run for it."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment

    def keep(self, name: str, content: str) -> None:
        """A file of another plugin of the page: `dom/output.html`."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def start(self, plugin: str, url: str, **settings: str) -> subprocess.Popen[str]:
        (hook,) = (BUNDLED / plugin).glob("on_Snapshot__*.*")
        cwd = self.folder / plugin
        cwd.mkdir(exist_ok=True)
        return subprocess.Popen(
            [RUNNERS[hook.suffix], str(hook), f"--url={url}", "--snapshot-id=s", "--crawl-id=c", "--depth=0"],
            cwd=cwd,
            env={**self.environment, "SNAP_DIR": str(self.folder), **settings},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, plugin: str, url: str, **settings: str) -> Run:
        return self.end(plugin, self.start(plugin, url, **settings))

    def end(self, plugin: str, process: subprocess.Popen[str], *, told: bool = False) -> Run:
        if told:
            process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
        records = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        return Run(process.returncode, records, err, self.folder / plugin)


@pytest.fixture
def page(tmp_path: Path, programs: Programs) -> Page:
    return Page(tmp_path, programs.environment)


class WayOut(ThreadingHTTPServer):
    """An HTTP proxy that lets nothing through and remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), Refusing)

    @property
    def environment(self) -> dict[str, str]:
        url = f"http://127.0.0.1:{self.server_port}"
        return dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), url)


class Refusing(BaseHTTPRequestHandler):
    """Answers 403 whatever is asked."""

    server: WayOut

    def refuse(self) -> None:
        self.server.asked.append(self.path)
        self.send_error(403)

    do_GET = do_HEAD = do_POST = do_CONNECT = refuse  # noqa: N815  (names of http.server)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (its name in http.server)
        """Nothing is said."""


@pytest.fixture
def crawl_port() -> Iterator[WayOut]:
    server = WayOut()
    with serving(server):
        yield server
