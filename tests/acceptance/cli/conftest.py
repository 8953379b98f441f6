"""Owns typing commands as a user does: in a folder of their own, with what they printed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.databases import database_of

CHECKOUT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Typed:
    """One command that has ended."""

    code: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, object]]:
        """stdout as JSON lines; anything else on it fails the test."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def record(self) -> dict[str, object]:
        (only,) = self.records
        return only


Type = Callable[..., Typed]


def environment(folder: Path) -> dict[str, str]:
    """The tester's own, without what would choose another collection or another parent process than this folder's."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("ARCHIVEBOX_", "DJANGO_"))}
    ours.pop("DATA_DIR", None)
    return {**ours, "PYTHONPATH": str(CHECKOUT), **database_of(folder)}


def typist(folder: Path) -> Type:
    """Runs ``archivebox …`` in a folder; ``stdin`` is text or bytes, none is an empty one."""

    def type_(*words: str, stdin: str | bytes = b"", cwd: Path | None = None, **env: str) -> Typed:
        done = subprocess.run(
            [sys.executable, "-m", "archivebox", *words],
            cwd=cwd or folder,
            env={**environment(folder), **env},
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Typed(done.returncode, done.stdout.decode(), done.stderr.decode())

    return type_


@pytest.fixture
def cli(tmp_path: Path) -> Type:
    """Types in an empty folder."""
    return typist(tmp_path)


@pytest.fixture(scope="session")
def initialised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``init`` makes, once: it takes 2 s of CPU."""
    folder = tmp_path_factory.mktemp("initialised")
    assert typist(folder)("init").code == 0
    return folder / "data"


@pytest.fixture
def collection(cli: Type, tmp_path: Path, initialised: Path) -> Path:
    """An empty collection in ``./data``."""
    if database_of(tmp_path):
        assert cli("init").code == 0
    else:
        shutil.copytree(initialised, tmp_path / "data")
    return tmp_path / "data"
