"""Owns a person's folder for acceptance tests: the command as typed, what it left, and what is still running."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from archivebox.lib.processes import ProcessIdentity, marked
from tests.empty import make_empty

PATIENCE = 240.0
"""Seconds in which a crawl of some pages ends on a loaded machine."""


class Home:
    """A folder with an empty collection, in which somebody types `archivebox …`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.env = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "DATA_DIR"}}
        self.env |= {"XDG_DATA_HOME": str(folder / "share"), "DJANGO_SETTINGS_MODULE": "archivebox.config.settings"}

    def start(self, *words: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-I", "-m", "archivebox", *words]
        return subprocess.Popen(
            command, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )

    def type(self, *words: str) -> tuple[int, list[dict[str, Any]]]:
        """Exit status and the JSON lines that were printed."""
        process = self.start(*words)
        output, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, [json.loads(line) for line in output.splitlines() if line.startswith("{")]

    def rows(self, statement: str) -> list[Any]:
        """The rows that a query finds; each answers to the names of its columns."""
        with sqlite3.connect(self.data / "index.sqlite3", timeout=30) as database:
            database.row_factory = sqlite3.Row
            return list(database.execute(statement))

    def describe(self) -> str:
        """What may explain its results, for the message of a failure: them, each hook's runs, and what was logged."""
        results = "SELECT hook_name, status, reason, attempts, start_ts, end_ts, output_str FROM core_archiveresult"
        runs = "SELECT hook_name, exit_code, end_reason, started_at, ended_at, stderr FROM machine_process"
        lines = [" | ".join(map(str, row)) for row in self.rows(f"{results} ORDER BY hook_name")]
        lines += [
            " | ".join(map(str, (*row[:5], row["stderr"][-500:])))
            for row in self.rows(f"{runs} WHERE process_type = 'hook' ORDER BY id")
        ]
        log = self.data / "logs" / "orchestrator.log"
        logged = log.read_text(errors="replace").splitlines()[-15:] if log.exists() else []
        return "\n".join([f"load {os.getloadavg()}", *lines, *logged])

    def snapshots(self) -> dict[str, Path]:
        """URL → folder of every Snapshot."""
        return {
            row["url"]: self.data / row["output_dir"] for row in self.rows("SELECT url, output_dir FROM core_snapshot")
        }

    def running(self) -> set[ProcessIdentity]:
        """Live processes of this collection: those with a row, and those that bear its mark."""
        columns = ("boot_id", "pid_ns", "pid", "start_ticks")
        where = "status = 'running' AND start_ticks IS NOT NULL"
        rows = self.rows(f"SELECT {', '.join(columns)} FROM machine_process WHERE {where}")
        known = {ProcessIdentity(*(row[name] for name in columns)) for row in rows} | set(marked(self.data))
        return {identity for identity in known if identity.is_alive() and not identity.is_zombie()}

    def wait_until_nothing_runs(self, seconds: float = 60.0) -> set[ProcessIdentity]:
        deadline = time.monotonic() + seconds
        while (left := self.running()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left

    def kill_everything(self) -> None:
        """SIGKILL to all of them in one moment: stopped first, so that none sees another's death."""
        for identity in self.running():
            identity.signal(signal.SIGSTOP)
        deadline = time.monotonic() + 90
        while (left := self.running()) and time.monotonic() < deadline:
            for identity in left:
                identity.signal(signal.SIGKILL)
            time.sleep(0.02)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    place = Home(tmp_path)
    make_empty(place.data)
    yield place
    if place.data.exists():
        place.kill_everything()
    shutil.rmtree(tmp_path, ignore_errors=True)
