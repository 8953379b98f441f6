"""Fixtures for everything that starts real processes."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from archivebox.lib.processes import ForkServer, become_subreaper
from tests.unit.lib.processes.starting import WAYS, Starter


@pytest.fixture(scope="session", autouse=True)
def _subreaper() -> None:
    become_subreaper()


@pytest.fixture
def cold(tmp_path: Path) -> Iterator[Starter]:
    starter = Starter(tmp_path)
    yield starter
    starter.clean()


@pytest.fixture
def forked(tmp_path: Path) -> Iterator[Starter]:
    if not ForkServer.available():
        pytest.skip("no fork server on this platform")
    starter = Starter(tmp_path, "forked", warm(tmp_path))
    yield starter
    starter.clean()


@pytest.fixture(params=WAYS)
def starter(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Starter]:
    starter = Starter(tmp_path, request.param, warm(tmp_path) if request.param == "forked" else None)
    yield starter
    starter.clean()


def warm(folder: Path) -> ForkServer:
    server = ForkServer(
        python=sys.executable,
        preload=["json", "argparse"],
        log=folder / "forkserver.log",
        spawn_log=folder / "spawn.jsonl",
        data_dir=folder,
    )
    server.start()
    return server
