"""Virtual environments of installed programs: each is built beside its place and linked in when it is whole."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import secrets
import shutil
import sys
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING

from archivebox.plugins.base import run_program
from archivebox.plugins.base.install import replace_link

if TYPE_CHECKING:
    from archivebox.plugins.base.install import InstallRequest, Library

# Set by the engine for this plugin, but read by pip as options of its own (a limit per connection).
_NOT_FOR_PIP = ("PIP_TIMEOUT", "PIP_ENABLED", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "__PYVENV_LAUNCHER__")
ASKED = ".asked.json"  # what pip was told to install
_NAME = re.compile(r"[\[=<>~!;@ ]")
"""What ends the name of a package in a requirement (PEP 508)."""
_BARE_VERSION = re.compile(r"\d[\w.!+*-]*")


class PipError(Exception):
    """pip could not install what was asked for."""


class Environment:
    """`LIB_DIR/pip/<binary>`, a link to the newest build `LIB_DIR/pip/.<binary>-<random>`.

    Console scripts hold the absolute path of their interpreter, so that a finished environment cannot be renamed;
    a link to it can, and is replaced in one step while the former build may still be running.
    """

    def __init__(self, library: Library, request: InstallRequest, timeout: float) -> None:
        self._library, self._request, self._timeout = library, request, timeout
        self.folder = library.root / "pip" / request.short_name

    def install(self) -> Path:
        """Build it and put it in place; returns the program's path. Raises PipError with a sentence.

        What is there as it is asked for is taken; who waited here for another's newer build takes that one.
        """
        asked = time.time()
        with self._library.locked(f"pip-{self.folder.name}"):
            program = self._program()
            if program is None or not self._is_as_asked() or (self._request.upgrade and self._built_at() < asked):
                self._build()
                program = self._program()
        if program is None:
            raise PipError(f"pip installed {self._request.packages}, which brings no program {self._request.names}")
        return program

    def _program(self) -> Path | None:
        candidates = (self.folder / "bin" / Path(name).name for name in self._request.names)
        return next((path for path in candidates if os.access(path, os.X_OK)), None)

    def _is_as_asked(self) -> bool:
        """Whether it was built for these packages, in these versions, with these options."""
        asked = self.folder / ASKED
        wanted = (self._asked(pinned=True), self._asked(pinned=False))
        return asked.is_file() and json.loads(asked.read_bytes()) in wanted  # the latter: somebody upgraded it

    def _built_at(self) -> float:
        return self.folder.stat().st_mtime

    def _build(self) -> None:
        parent = self.folder.parent
        parent.mkdir(parents=True, exist_ok=True)
        former = self.folder.resolve() if self.folder.is_symlink() else None
        build = parent / f".{self.folder.name}-{secrets.token_hex(4)}"
        try:
            self._run([sys.executable, "-m", "venv", "--without-pip", str(build)])
            report = build / "report.json"
            install, *arguments = self._arguments(pinned=not self._request.upgrade)
            self._run([str(build / "bin/python"), *self._pip(), install, "--report", str(report), *arguments])
            self._check_hash(report)
            (build / ASKED).write_text(json.dumps(self._asked(pinned=not self._request.upgrade)))
            os.utime(build)  # the time at which it was whole
            replace_link(self.folder, build)
        except BaseException:
            shutil.rmtree(build, ignore_errors=True)
            raise
        self._remove_all_but({build, former})

    def _remove_all_but(self, kept: set[Path | None]) -> None:
        """Take away builds older than the former one, which running programs may still load modules from."""
        pattern = re.compile(rf"\.{re.escape(self.folder.name)}-[0-9a-f]{{8}}")
        for path in self.folder.parent.iterdir():
            if pattern.fullmatch(path.name) and path not in kept:
                shutil.rmtree(path, ignore_errors=True)

    def _check_hash(self, report: Path) -> None:
        """Refuse another file than the plugin was written for; the report's form: pip's manual, Installation Report."""
        wanted = self._request.options.get("sha256")
        if not isinstance(wanted, str) or self._request.upgrade:
            return
        found = {
            _normal(one["metadata"]["name"]): one["download_info"]
            .get("archive_info", {})
            .get("hashes", {})
            .get("sha256")
            for one in json.loads(report.read_bytes())["install"]
        }
        name = _normal(_NAME.split(self._request.packages[0], maxsplit=1)[0])
        if found.get(name) != wanted:
            raise PipError(f"pip got {name} with the SHA-256 {found.get(name)}, not {wanted}: it is not used.")

    def _asked(self, *, pinned: bool) -> list[str]:
        """What pip is told, as it is written down: of a lock file, what it says."""
        lock = self._lock() if pinned else None
        digest = [hashlib.sha256(lock.read_bytes()).hexdigest()] if lock is not None else []
        return [*(word for word in self._arguments(pinned=pinned) if word != str(lock)), *digest]

    def _arguments(self, *, pinned: bool) -> list[str]:
        """What pip is told; ``pinned``: in the versions that were asked for, as they are unless an upgrade is."""
        packages = self._request.packages
        version = self._request.version
        if version and pinned:
            packages[0] += f"=={version}" if _BARE_VERSION.fullmatch(version) else version
        quiet = ["--no-input", "--disable-pip-version-check", "--no-warn-script-location", "--quiet"]
        lock = self._lock() if pinned else None
        wanted = ["--", *packages] if lock is None else ["--require-hashes", "--requirement", str(lock)]
        return ["install", *quiet, *self._request.arguments("args"), *wanted]

    def _lock(self) -> Path | None:
        """The file that names every package with its version and its hashes; None where the plugin has none."""
        named = self._request.options.get("lock")
        if not isinstance(named, str):
            return None
        if not (lock := Path(named)).is_file():
            raise PipError(f"The lock file of {self._request.name} is not there: {lock}")
        return lock

    def _run(self, command: list[str]) -> None:
        environ = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_PIP}
        done = run_program(command, timeout=self._timeout, env=environ)
        if done.timed_out:
            raise PipError(f"Installing {self._request.name} with pip took longer than {self._timeout:g} s.")
        if done.returncode != 0:
            last = (done.stderr.strip() or done.stdout.strip()).rpartition("\n")[2]
            raise PipError(f"pip could not install {' '.join(self._request.packages)}: {last}")

    def _pip(self) -> list[str]:
        """How the new environment's interpreter runs a pip that is not installed in it.

        Ours where we have one; else the wheel that ensurepip carries, which runs from inside the file; else that of
        the interpreter our own environment was made from. Debian's python3 may have none of them.
        """
        ours = importlib.util.find_spec("pip")
        if ours is not None and ours.origin is not None:
            return [str(Path(ours.origin).with_name("__pip-runner__.py"))]
        wheels = sorted(wheel for folder in _wheel_folders() for wheel in folder.glob("pip-*.whl"))
        if wheels:
            return [str(wheels[-1] / "pip")]
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        for site in (f"lib/{version}/site-packages", "lib/python3/dist-packages", f"local/lib/{version}/dist-packages"):
            runner = Path(sys.base_prefix, site, "pip", "__pip-runner__.py")
            if runner.is_file():
                return [str(runner)]
        raise PipError("There is no pip beside the application's Python. Install it: python3 -m ensurepip")


def _normal(name: str) -> str:
    """A package's name as all write it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _wheel_folders() -> list[Path]:
    """Where ensurepip has its wheels: beside itself, or where the distribution says (python3-pip-whl of Debian)."""
    ensurepip = importlib.util.find_spec("ensurepip")
    beside = [Path(ensurepip.origin).with_name("_bundled")] if ensurepip is not None and ensurepip.origin else []
    elsewhere = sysconfig.get_config_var("WHEEL_PKG_DIR")
    return [*beside, Path(elsewhere)] if elsewhere else beside
