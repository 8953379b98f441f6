"""Who takes part in archiving a page and can be killed, and how each is found while it runs."""

import errno
import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.acceptance.archive.conftest import Home
from tests.chaos.opening import RECORDER, TAB, Page

COLUMNS = "pid, process_type, worker_type, cmd, hook_name"
CHROME = "on_Crawl__01_chrome.daemon.bg.py"
"""Chromium's own hook, which is also the relay that all others speak through."""
MEMORY_CONTROLLERS = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"))
"""Version 1, and version 2 where the root group has given its children the controller."""


def _rows(home: Home, where: str) -> list[int]:
    found = home.rows(f"SELECT {COLUMNS} FROM machine_process WHERE status = 'running' AND pid IS NOT NULL AND {where}")
    return [int(row["pid"]) for row in found]


def _browsers(home: Home) -> list[int]:
    rows = home.rows("SELECT pid, cmd FROM machine_process WHERE status = 'running' AND process_type = 'binary'")
    return [int(row["pid"]) for row in rows if row["pid"] and "chrom" in "".join(json.loads(row["cmd"])[:1])]


def _renderers(home: Home, _page: Page) -> list[int]:
    """Chromium's processes that draw pages; a helper that it keeps ahead for the next page is among them."""
    found = []
    for browser in _browsers(home):
        try:
            children = psutil.Process(browser).children(recursive=True)
            found += [child.pid for child in children if "--type=renderer" in child.cmdline()]
        except psutil.Error:
            continue
    return found


def _environment_servers(home: Home) -> list[int]:
    """Fork servers of plugins' own environments: every one but the application's."""
    servers = home.rows(
        "SELECT pid, cmd FROM machine_process WHERE status = 'running' AND worker_type = 'forkserver' AND pid > 0"
    )
    return [int(row["pid"]) for row in servers if str(home.env.get("LIB_DIR", home.folder)) in row["cmd"]]


def _fork_servers(home: Home) -> list[int]:
    """One of the application's own."""
    of_environments = set(_environment_servers(home))
    return [pid for pid in _rows(home, "worker_type = 'forkserver'") if pid not in of_environments][:1]


def _one(pid: int | None) -> list[int]:
    return [] if pid is None else [pid]


VICTIMS: dict[str, Callable[[Home, Page], Iterable[int]]] = {
    "recorder": lambda _home, page: _one(page.pid(RECORDER)),
    "tab holder": lambda _home, page: _one(page.pid(TAB)),
    "renderers": _renderers,
    "browser": lambda home, _page: _browsers(home),
    "relay": lambda home, _page: _rows(home, f"hook_name = '{CHROME}'"),
    "egress proxy": lambda home, _page: _rows(home, "worker_type = 'egress'"),
    "fork server": lambda home, _page: _fork_servers(home),
    "environment's fork server": lambda home, _page: _environment_servers(home),
    "worker": lambda home, _page: _rows(home, "worker_type = 'worker'"),
    "orchestrator": lambda home, _page: _rows(home, "process_type = 'orchestrator'"),
}
"""Each alone; ``everything`` is a kind of its own, after which somebody has to start again."""


def kill(pids: Iterable[int]) -> int:
    """SIGKILL to each; how many were there to be killed."""
    killed = 0
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        killed += 1
    return killed


@contextmanager
def small_memory(name: str) -> Iterator[Path | None]:
    """A control group of 4 MB (cgroups(7)): the kernel kills what takes more. None where there is no controller."""
    parent = next((folder for folder in MEMORY_CONTROLLERS if os.access(folder, os.W_OK)), None)
    if parent is None:
        yield None
        return
    group = parent / name
    group.mkdir()
    try:
        limit = group / "memory.max"
        (limit if limit.exists() else group / "memory.limit_in_bytes").write_text(str(4 << 20))
        yield group
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            kill([int(pid)])
        _remove(group)


def move(pids: Iterable[int], group: Path) -> int:
    """Put processes into a control group; how many were there. What they hold already stays where it was counted."""
    moved = 0
    for pid in pids:
        try:
            (group / "cgroup.procs").write_text(str(pid))
        except ProcessLookupError:
            continue
        moved += 1
    return moved


def _remove(group: Path) -> None:
    """Remove a control group as soon as its last process has gone."""
    while True:
        try:
            group.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            time.sleep(0.05)
        else:
            return
