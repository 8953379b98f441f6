"""Owns the scripts that applications of the local web are built into, from npm packages pinned in `packages/`.

They are built when the first of them is asked for, and kept in a folder whose name is a hash of what they are made of:
below `$ARCHIVEBOX_TESTS_LIB` where that is set, else below the cache folder of whoever runs the tests.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tests.site.static import TYPES
from tests.site.wire import TEXT, Request, Response, Route

SOURCES = Path(__file__).with_name("packages")
PINS = ("package.json", "package-lock.json")
PATIENCE = 300.0
"""Seconds in which the packages come on a loaded machine."""
ANYWHERE = (("Access-Control-Allow-Origin", "*"),)
"""Modules of another origin are loaded only where it allows that (Fetch standard, CORS)."""


class BuildError(Exception):
    """The scripts could not be built; the message says why."""


@cache
def built() -> Path:
    """The folder of what was built; BuildError."""
    place = kept_folder() / f"packages-{_digest(PINS)}"
    place.mkdir(parents=True, exist_ok=True)
    sources = [path.name for path in sorted(SOURCES.iterdir()) if path.is_file()]
    out = place / f"built-{_digest(sources)}"
    with _alone(place):
        if not (place / "node_modules").is_dir():
            _install(place)
        if not out.is_dir():
            _build(place, sources, out)
    return out


def kept_folder() -> Path:
    """The folder of what tests fetch or build once, and keep."""
    shared = os.environ.get("ARCHIVEBOX_TESTS_LIB")
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(shared) / "local-web" if shared else caches / "archivebox-local-web"


def _digest(names: tuple[str, ...] | list[str]) -> str:
    whole = hashlib.sha256()
    for name in names:
        whole.update(f"{name}\0".encode() + hashlib.sha256((SOURCES / name).read_bytes()).digest())
    return whole.hexdigest()[:16]


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Keep other test processes out until the end of the block."""
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(place: Path) -> None:
    """Install exactly what is pinned, without scripts of its authors."""
    work = place / "installing"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    for name in PINS:
        shutil.copy(SOURCES / name, work)
    _run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], work)
    (work / "node_modules").rename(place / "node_modules")


def _build(place: Path, sources: list[str], out: Path) -> None:
    work = place / "building"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    for name in sources:
        shutil.copy(SOURCES / name, work)
    _run(["node", "build.mjs", "out"], work)
    (work / "out").rename(out)


def _run(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{command[0]}: {error}") from error
    if done.returncode:
        raise BuildError(f"{' '.join(command)} failed: {done.stdout[-2000:]}")


def bundle(request: Request) -> Response:
    """A file of what was built."""
    try:
        root = built()
    except BuildError as error:
        return Response(f"{error}\n".encode(), TEXT, 500)
    file = (root / request.path.removeprefix("/built/")).resolve()
    if not (file.is_relative_to(root.resolve()) and file.is_file() and file.suffix in TYPES):
        return Response(b"no such file was built\n", TEXT, 404)
    return Response(file.read_bytes(), TYPES[file.suffix], headers=ANYWHERE)


ROUTES = (
    Route("/built/*", "scripts built of npm packages", bundle, TYPES[".js"], sample="/built/react.js", unending=True),
)
