"""Owns starting actor and watcher: forked from a process that has the libraries in memory, as both load all of Django.

Where the platform is to be an able one alone; elsewhere, and for the portable path, each is started cold.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context, set_forkserver_preload
from multiprocessing.process import BaseProcess
from pathlib import Path

LIBRARIES = (
    "django.contrib.auth.hashers", "django.core.management", "django.db.backends.sqlite3.base", "django.db.models",
    "django.forms", "django.http", "django.template.backends.django", "django.urls", "psycopg", "pydantic",
    "statemachine", "archivebox.contract.discovery", "archivebox.lib.egress", "archivebox.lib.processes",
)  # fmt: skip
"""What reads neither the data folder nor its settings when it is imported."""


class Tool:
    """A module of this folder at work in a process of its own; the methods are those of ``subprocess.Popen``."""

    def __init__(self, name: str, env: Mapping[str, str], *given: object, log: Path | None = None) -> None:
        is_cold = sys.platform != "linux" or "ARCHIVEBOX_PORTABLE" in env
        context = get_context("spawn") if is_cold else get_context("forkserver")
        set_forkserver_preload([*LIBRARIES])
        work = (f"{__package__}.{name}", dict(env), log, *given)
        self._process: BaseProcess = context.Process(target=_work, args=work, daemon=True)  # ends with the tests
        self._process.start()

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(str(self._process.name), timeout or 0)
        return self._process.exitcode

    def send_signal(self, signum: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, signum)

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def _work(module: str, env: dict[str, str], log: Path | None, *given: object) -> None:
    """What the new process does: ``main`` of its module, with nothing of our environment."""
    os.environ.clear()
    os.environ.update(env)
    spec = find_spec(module)
    sys.argv[:] = [str(spec and spec.origin)]
    if log is not None:
        with log.open("ab") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
    sys.exit(import_module(module).main(*given))
