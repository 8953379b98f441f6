"""Installs Debian packages without ever asking, and without leaving dpkg half done."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from archivebox.plugins.base import log, run_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from archivebox.plugins.base import Finished
    from archivebox.plugins.base.install import InstallRequest

ASKING = 120.0  # seconds for a question to dpkg or apt, which only reads
UNLIMITED = 7 * 86400.0  # seconds; dpkg is let finish, whatever our own time
LOCK_WAIT = 900  # seconds that apt waits for another's lock (unattended upgrades hold it for minutes)
# DEBIAN_FRONTEND goes by env(1), since sudo drops what it does not know.
_ENVIRONMENT = ("env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8")


class AptError(Exception):
    """The packages are not installed; the message is what a person should read, or type."""


def packages_of(request: InstallRequest) -> list[str]:
    """The packages that bring the program, the first of them in the version that is wanted."""
    packages = request.packages
    if request.version:
        packages[0] += f"={request.version}"
    return packages


class Apt:
    """apt-get on this machine; `timeout` (seconds) limits all that can be stopped without harm."""

    def __init__(self, timeout: float, extra: list[str]) -> None:
        self._timeout, self._extra = timeout, extra

    def install(self, packages: list[str]) -> None:
        """Install what is missing of `packages`. Raises AptError.

        1. What is there already needs neither root nor apt. 2. An interrupted dpkg is brought to its end.
        3. The lists are fetched when apt cannot plan with those it has. 4. The packages are fetched; this may be
        stopped. 5. They are unpacked and set up; this is not stopped.
        """
        if not is_here():
            raise AptError("apt is for Debian and its relatives; this machine has no apt-get.")
        if self.has(packages):
            return
        root = self.as_root()
        if root is None:
            raise AptError(f"sudo apt-get install --yes {' '.join(packages)}")
        with _uninterrupted():
            self._run([*root, "dpkg", "--configure", "-a"], UNLIMITED)
        if not self.can_plan(packages):
            self._update(root)
        if self._get(root, ["--download-only"], packages, self._timeout).returncode != 0:
            self._update(root)  # the lists name files that the archive no longer has
            self._check(self._get(root, ["--download-only"], packages, self._timeout), packages)
        with _uninterrupted():
            self._check(self._get(root, ["--no-download"], packages, UNLIMITED), packages)

    def upgrade(self, packages: list[str]) -> None:
        """Bring what is installed to the newest version there is. Raises AptError."""
        if not is_here() or not self.has([_bare(package) for package in packages]):
            raise AptError(f"{' '.join(packages)} did not come by apt.")
        root = self.as_root()
        if root is None:
            raise AptError(f"sudo apt-get install --only-upgrade --yes {' '.join(packages)}")
        self._update(root)
        self._check(self._get(root, ["--only-upgrade", "--download-only"], packages, self._timeout), packages)
        with _uninterrupted():
            self._check(self._get(root, ["--only-upgrade", "--no-download"], packages, UNLIMITED), packages)

    def programs_of(self, packages: list[str], names: list[str]) -> list[Path]:
        """Programs of these names wherever the packages put them: /usr/games, /opt and others not on the PATH."""
        listed = self._run(["dpkg", "-L", *(_bare(package) for package in packages)], ASKING).stdout.splitlines()
        paths = [Path(line) for name in names for line in listed if line.endswith(f"/{Path(name).name}")]
        return [path for path in paths if path.is_file() and os.access(path, os.X_OK)]

    def has(self, packages: list[str]) -> bool:
        """Whether all of them are installed: then neither root nor apt is needed."""
        return all(self._is_installed(package) for package in packages)

    def as_root(self) -> list[str] | None:
        """What goes in front of a command that root has to run; None when sudo would ask for a password."""
        if os.geteuid() == 0:
            return [*_ENVIRONMENT]
        if shutil.which("sudo") and self._run(["sudo", "-n", "true"], ASKING).returncode == 0:
            return ["sudo", "-n", *_ENVIRONMENT]
        return None

    def _is_installed(self, package: str) -> bool:
        name, _, version = package.partition("=")
        done = self._run(["dpkg-query", "-W", "-f=${db:Status-Status} ${Version}\n", name], ASKING)
        status, _, installed = done.stdout.strip().partition(" ")
        return done.returncode == 0 and status == "installed" and version in ("", installed)

    def can_plan(self, packages: list[str]) -> bool:
        return self._run(["apt-get", "install", "--simulate", "--", *packages], ASKING).returncode == 0

    def _update(self, root: list[str]) -> None:
        done = self._run([*root, "apt-get", "update"], self._timeout)
        if done.returncode != 0:
            log("apt-get update failed; going on with the lists that are there.")

    def _get(self, root: list[str], mode: list[str], packages: list[str], timeout: float) -> Finished:
        return self._run([*root, *self.words(mode, packages)], timeout)

    def words(self, mode: list[str], packages: list[str]) -> list[str]:
        """The call of apt-get that fetches the packages, or unpacks them: which, is said by `mode`."""
        options = [
            f"-oDPkg::Lock::Timeout={LOCK_WAIT}",
            "-oDpkg::Options::=--force-confold",
            "-oAPT::Get::Assume-Yes=1",
        ]
        return ["apt-get", "install", "--no-install-recommends", *mode, *options, *self._extra, "--", *packages]

    def _check(self, done: Finished, packages: list[str]) -> None:
        if done.timed_out:
            raise AptError(f"Fetching {' '.join(packages)} with apt took longer than {self._timeout:g} s.")
        if done.returncode != 0:
            reasons = [line for line in done.stderr.splitlines() if line.startswith("E: ")]
            reason = reasons[0].removeprefix("E: ") if reasons else f"status {done.returncode}"
            raise AptError(f"apt could not install {' '.join(packages)}: {reason}")

    def _run(self, command: list[str], timeout: float) -> Finished:
        return run_program(command, timeout=timeout)


def is_here() -> bool:
    return bool(shutil.which("apt-get") and shutil.which("dpkg"))


def in_one_command(wanted: list[tuple[Apt, list[str]]]) -> list[str]:
    """The steps of `Apt.install` for all of these as one command for root, so that sudo asks for one password.

    Its output is for the terminal it is run at, whose Ctrl-C ends it unless dpkg is at work.
    """
    fetch = " && ".join(shlex.join(apt.words(["--download-only"], packages)) for apt, packages in wanted)
    unpack = " && ".join(shlex.join(apt.words(["--no-download"], packages)) for apt, packages in wanted)
    steps = [
        "trap '' INT TERM",
        "dpkg --configure -a",
        "trap - INT TERM",
        *([] if all(apt.can_plan(packages) for apt, packages in wanted) else ["apt-get update"]),
        f"fetch() {{ {fetch}; }}",
        "fetch || { apt-get update; fetch; } || exit",
        "trap '' INT TERM",
        unpack,
    ]
    return [*_ENVIRONMENT, "sh", "-c", "; ".join(steps)]


def _bare(package: str) -> str:
    return package.partition("=")[0]


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Nothing started in here is ended by TERM or INT, and neither are we: an ignored signal stays so through exec.

    A dpkg that is ended between unpacking and setting up leaves the whole system's packages blocked.
    """
    former = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
