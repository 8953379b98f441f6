"""``archivebox`` as people type it: each command a process, in a collection of its own, from its start to its end."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
ARCHIVEBOX = (sys.executable, "-m", "archivebox")
DJANGO = (sys.executable, "-c", "import django, django.db.models")
"""The floor of every command: an interpreter that has the ORM, and does nothing."""

NOT_THEIRS = ("ARCHIVEBOX_", "DJANGO_", "PYTHONDONTWRITEBYTECODE")
"""Beginnings of variables that people who archive do not have."""


def environment(data: Path, **more: str) -> dict[str, str]:
    """Ours without what belongs to the process that measures; ``data`` is the collection."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(NOT_THEIRS)}
    return {**env, "DATA_DIR": str(data), **more}


def seconds_of(command: Sequence[str | Path], env: dict[str, str]) -> float:
    """From the start of a command until it has ended; CalledProcessError, with what it said, unless it is 0."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=REPOSITORY, env=env, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        raise subprocess.CalledProcessError(done.returncode, [str(word) for word in command])
    return seconds


@contextmanager
def collection() -> Iterator[Path]:
    """A folder with an initialised, empty collection, which is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-collection-") as folder:
        data = Path(folder) / "data"
        seconds_of([*ARCHIVEBOX, "init"], environment(data))
        yield data


@contextmanager
def local_site() -> Iterator[str]:
    """The tests' web in a process of its own, so that it takes no turns at the interpreter of who measures: its URL."""
    command = [sys.executable, str(REPOSITORY / "tests/site/serve.py"), "--print-url"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as site:
        try:
            if site.stdout is None or not (url := site.stdout.readline().strip()):
                raise ChildProcessError("the local site did not start")
            yield url
        finally:
            site.terminate()


def chromium() -> str:
    """Path of the browser; LookupError where there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    raise LookupError("no Chromium is installed")
