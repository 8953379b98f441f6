"""Owns typing commands as a user does: in a folder of their own, with what they printed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.databases import database_of
from tests.empty import make_empty
from tests.forked import CommandLine, run_command

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
    return {**ours, "PYTHONPATH": str(CHECKOUT), **database_of(folder / "data")}


def typist(folder: Path, *, may_be_forked: bool = True) -> Type:
    """Runs ``archivebox …`` in a folder; ``stdin`` is text or bytes, none is an empty one.

    Forked from a process that has ArchiveBox in memory, unless it is the start of the command that is tested.
    """

    def type_(*words: str, stdin: str | bytes = b"", cwd: Path | None = None, **env: str) -> Typed:
        command = CommandLine(words, {**environment(folder), **env}, cwd or folder, may_be_forked)
        given = stdin.encode() if isinstance(stdin, str) else stdin
        done = run_command(command, given, timeout=120)
        return Typed(done.code, done.out.decode(), done.err.decode())

    return type_


@pytest.fixture
def cli(tmp_path: Path) -> Type:
    """Types in an empty folder."""
    return typist(tmp_path)


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """An empty collection in ``./data``."""
    make_empty(tmp_path / "data")
    return tmp_path / "data"
