"""Owns a machine of a fleet: its namespaces, a data folder that joins by URLs, and its worker."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.fleet.network import NETWORK, REPOSITORY, FleetNetwork
from tests.integration.engine.driver import Collection
from tests.namespaces import Namespace


class SharedByFleet(NamedTuple):
    """What all machines have in common."""

    settings: Mapping[str, str]
    """The URLs of the database and of the object store, as machines reach them, and the credentials."""
    users: Path | None
    """The folder of pages, where there is no object store."""


class FleetMachine:
    """``folder`` is its data folder."""

    def __init__(self, name: str, number: int, network: FleetNetwork, made: Collection, shared: SharedByFleet) -> None:
        self.name = name
        self._settings = shared.settings
        self.folder = made.root
        self._made = made
        self._namespace = Namespace(net=True)
        network.connect(self._namespace, name, number)
        names = made.base / "hosts"
        names.write_text(network.names())
        self._namespace.run("mount", "--bind", names, Path("/etc/hosts"))
        self.users = shared.users or made.root / "users"
        """Its folder of pages, as others read it."""
        if shared.users is not None:
            (made.root / "users").mkdir(exist_ok=True)
            self._namespace.run("mount", "--bind", shared.users, made.root / "users")

    @property
    def env(self) -> Mapping[str, str]:
        return {**self._made.env, **self._settings, "PRIVATE_NETWORK_ALLOWLIST": NETWORK}

    def work(self) -> None:
        """Start its worker, as people do."""
        command = [sys.executable, "-m", "archivebox", "worker"]
        self._namespace.start(command, self.env, cwd=REPOSITORY, log=self._made.base / "worker.log")

    def ask(self, module: str, **settings: str) -> str:
        """What a module prints that runs there."""
        command, env = self._namespace.command(sys.executable, "-m", module), {**self.env, **settings}
        done = subprocess.run(command, env=env, cwd=REPOSITORY, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def processes(self) -> dict[int, str]:
        return self._namespace.processes()

    def stop(self) -> None:
        """Have its worker end by itself."""
        self._namespace.terminate()

    def kill(self) -> None:
        """Its power fails."""
        self._namespace.kill()

    def describe(self) -> str:
        """The end of its logs, for the message of a failure."""
        logs = (self._made.base / "worker.log", self.folder / "logs" / "orchestrator.log")
        return "\n".join(f"--- {self.name} {log.name}\n{log.read_text()[-3000:]}" for log in logs if log.exists())
