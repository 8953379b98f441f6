"""Owns the programs that tests of plugins run: installed once per test run, as the bundled providers install them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.discovery import BUNDLED, read_plugin

SHARED = "ARCHIVEBOX_TESTS_LIB"
"""Names a folder to install into, so that all parts of the suite install once; kept by a person, so do all runs."""
PROVIDERS = ("env", "pip", "npm")
"""What comes from the system's packages is there before the tests: `tests/suite/packages.py`."""
PATIENCE = 240.0
"""Seconds in which a program is installed on a loaded machine."""


class Programs:
    """One `LIB_DIR`, and what was installed into it."""

    def __init__(self, lib: Path) -> None:
        self.lib = lib
        self._paths: dict[str, str] = {}

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which hooks, and `archivebox` itself, find what is installed here."""
        modules = str(self.lib / "npm" / "node_modules")
        path = f"{self.lib / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {"LIB_DIR": str(self.lib), "NODE_MODULES_DIR": modules, "NODE_PATH": modules, "PATH": path}

    def install(self, plugin: str) -> dict[str, str]:
        """Name → path of all that a bundled plugin asks for."""
        read = read_plugin(plugin, BUNDLED / plugin)
        assert read is not None, plugin
        return {request.name: self.ask(request) for request in read.binaries}

    def ask(self, request: BinaryRequest) -> str:
        """Path of a program that somebody asks for."""
        if request.name not in self._paths:
            self._paths[request.name] = self._ask(request, request.binproviders or PROVIDERS)
        return self._paths[request.name]

    def _ask(self, request: BinaryRequest, providers: Iterable[str]) -> str:
        said = []
        for provider in (name for name in providers if name in PROVIDERS):
            found, problem = self._run(provider, request)
            if found:
                return found
            said.append(f"{provider}: {problem}")
        raise AssertionError(f"{request.name} is not to be had. {'; '.join(said)}")

    def _run(self, provider: str, request: BinaryRequest) -> tuple[str, str]:
        """One provider's hook: the path that it reports ("" if none), and what it said to people."""
        (hook,) = (BUNDLED / provider).glob("on_Binary__*.py")
        options = {
            "name": request.name,
            "binproviders": provider,
            "overrides": json.dumps(dict(request.overrides)),
        }
        done = subprocess.run(
            [sys.executable, str(hook), *(f"--{name}={value}" for name, value in options.items())],
            env=os.environ | self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        records: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        found = [str(record["abspath"]) for record in records if record["type"] == "Binary"]
        return (found[-1] if found else ""), done.stderr[-1000:]
