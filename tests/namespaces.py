"""Owns machines for tests: network, mount and pid namespaces in which processes see and reach nothing of each other.

See namespaces(7). Root is needed, and iproute2 for networks. Whatever runs in a namespace ends with it, and with us.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

_INIT = """
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans are reaped by the kernel
print(flush=True)
while True:
    signal.pause()
"""


@cache
def why_no_namespaces() -> str:
    """Why tests cannot make namespaces here; empty where they can."""
    if sys.platform != "linux":
        return "namespaces are Linux's"
    if os.geteuid() != 0:
        return "needs root, to make namespaces"
    for program in ("setpriv", "unshare", "nsenter", "ip"):
        if shutil.which(program) is None:
            return f"needs {program} (Debian: util-linux, iproute2)"
    made = subprocess.run(
        ["unshare", "--net", "--pid", "--fork", "--mount-proc", "true"], check=False, capture_output=True
    )
    return "" if made.returncode == 0 else f"no namespaces can be made here: {made.stderr.decode().strip()}"


class Namespace:
    """A pid and mount namespace, and with ``net`` a network namespace, held by its first process."""

    def __init__(self, *, net: bool = False) -> None:
        self._entered = ["--mount", "--pid", *(["--net"] if net else [])]
        init = [sys.executable, "-S", "-c", _INIT]
        # setpriv(1): it ends with us, also where we are killed.
        command = [
            "setpriv",
            "--pdeathsig=KILL",
            "unshare",
            *self._entered,
            "--fork",
            "--kill-child",
            "--mount-proc",
            *init,
        ]
        self._holder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline(), "no namespace could be made"
        children = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children").read_text().split()
        self.pid = int(children[0])
        """Of its first process, as we see it."""
        self._name = Path(f"/proc/{self.pid}/ns/pid").readlink()
        self._entries: list[subprocess.Popen[bytes]] = []

    def command(self, *argv: str | Path) -> list[str]:
        """The command line that runs another in here."""
        return ["nsenter", f"--target={self.pid}", *self._entered, "--", *map(str, argv)]

    def in_network(self, *argv: str | Path) -> list[str]:
        """The command line that runs another in the network of this one alone: processes are those that we see."""
        return ["nsenter", f"--target={self.pid}", "--net", "--", *map(str, argv)]

    def run(self, *argv: str | Path) -> None:
        """Run a command in here, which has to succeed."""
        subprocess.run(self.command(*argv), check=True, stdout=subprocess.DEVNULL)

    def start(
        self, argv: Sequence[str | Path], env: Mapping[str, str], *, cwd: Path, log: Path
    ) -> subprocess.Popen[bytes]:
        """Start a program in here; what is returned is its keeper outside, which ends as it ends."""
        with log.open("ab") as out:
            entry = subprocess.Popen(self.command(*argv), env=dict(env), cwd=cwd, stdout=out, stderr=out)
        self._entries.append(entry)
        return entry

    def terminate(self) -> None:
        """Send TERM to the programs started in here, and wait until they have ended."""
        for entry in self._entries:
            for child in Path(f"/proc/{entry.pid}/task/{entry.pid}/children").read_text().split():
                os.kill(int(child), signal.SIGTERM)
        for entry in self._entries:
            entry.wait(60)
        self._entries.clear()

    def processes(self) -> dict[int, str]:
        """Command lines of what runs in here beside its first process, by pid as we see it; zombies do not run."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended meanwhile
                if (folder / "ns" / "pid").readlink() == self._name and " Z " not in (folder / "stat").read_text():
                    found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        found.pop(self.pid, None)
        return found

    def kill(self) -> None:
        """End everything in here at once, as a failure of power does; the namespace ends with it."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self._holder.wait(60)
        if self._holder.stdout is not None:
            self._holder.stdout.close()
        for entry in self._entries:
            entry.wait(60)
        self._entries.clear()
