"""Owns the network of a fleet: a bridge in a namespace of its own, with the local web, and a cable to each machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.namespaces import Namespace

REPOSITORY = Path(__file__).parents[2]
PREFIX = "10.77.0."
NETWORK = f"{PREFIX}0/24"
HOSTS = tuple(f"h{number}.test" for number in range(1, 7))
PORT = 8000
HARDWARE_ADDRESS = "02:00:00:00:00:01"
"""Of the bridge: else it is that of a cable, and becomes another when this one is cut, which nobody else is told."""


class FleetNetwork:
    """Nothing leads out of it: no address of it is known outside of its namespaces."""

    def __init__(self) -> None:
        self._hub = Namespace(net=True)
        self._site: subprocess.Popen[bytes] | None = None
        self._ip("link", "set", "lo", "up")
        self._ip("link", "add", "bridge", "address", HARDWARE_ADDRESS, "type", "bridge")
        self._ip("link", "set", "bridge", "up")
        for number, _ in enumerate(HOSTS, 11):
            self._ip("address", "add", f"{PREFIX}{number}/24", "dev", "bridge")

    def inside(self, *argv: str | Path) -> list[str]:
        """The command line that runs another where the bridge is, and one end of each cable."""
        return self._hub.in_network(*argv)

    def _ip(self, *words: str) -> None:
        subprocess.run(self.inside("ip", *words), check=True)

    def connect(self, machine: Namespace, name: str, number: int) -> str:
        """Lead a cable to a machine; returns the address that it has."""
        address = f"{PREFIX}{number}"
        peer = ["peer", "name", "eth0", "netns", str(machine.pid)]
        self._ip("link", "add", name, "type", "veth", *peer)
        self._ip("link", "set", name, "master", "bridge", "up")
        for words in (["link", "set", "lo", "up"], ["address", "add", f"{address}/24", "dev", "eth0"]):
            subprocess.run(machine.in_network("ip", *words), check=True)
        subprocess.run(machine.in_network("ip", "link", "set", "eth0", "up"), check=True)
        return address

    def cut(self, name: str) -> None:
        """Lose every packet from and to a machine from now on; nobody is told."""
        self._ip("link", "set", name, "nomaster")

    def mend(self, name: str) -> None:
        self._ip("link", "set", name, "master", "bridge")

    def serve_site(self) -> None:
        """Serve the local web under the names of HOSTS, all on one port."""
        script = REPOSITORY / "tests" / "site" / "serve.py"
        options = ("--host", "0.0.0.0", "--port", str(PORT), "--print-url")
        serve = self._hub.in_network(sys.executable, script, *options)
        self._site = subprocess.Popen(serve, stdout=subprocess.PIPE)
        assert self._site.stdout is not None
        assert self._site.stdout.readline(), "the local web has ended"

    def names(self) -> str:
        """What /etc/hosts says on a machine."""
        known = [f"{PREFIX}{number} {name}" for number, name in enumerate(HOSTS, 11)]
        return "\n".join(["127.0.0.1 localhost", *known, ""])

    def close(self) -> None:
        if self._site is not None and self._site.stdout is not None:
            self._site.terminate()
            self._site.wait(60)
            self._site.stdout.close()
        self._hub.kill()
