"""Owns the fixtures of tests that need a running server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.empty import make_empty
from tests.webserver.browser import PROGRAM, Browser
from tests.webserver.rows import NAME, PASSWORD
from tests.webserver.server import Server, Visitor, WebServer, in_collection


@dataclass
class Library:
    """A server with rows, somebody who is logged in, and the keys of what there is to see."""

    server: Server
    visitor: Visitor
    crawl: str
    snapshot: str
    other: str
    hook: str
    folder: str
    other_folder: str
    url: str
    other_url: str

    def stranger(self) -> Visitor:
        return Visitor(self.server)


def open_library(folder: Path, kind: type[Server] = WebServer, **settings: str) -> Iterator[Library]:
    """``kind``: ``Server`` for tests that need more of ``archivebox server`` than its pages."""
    make_empty(folder)
    # PLUGINS: what the tests add is looked at by one hook that needs no browser and no network.
    with kind(folder, {"PLUGINS": '["hashes"]', **settings}) as server:
        keys = json.loads(
            in_collection(
                folder, "import sys; from tests.webserver.rows import make; print(make(sys.argv[1]))", str(server.port)
            )
        )
        visitor = Visitor(server)
        assert visitor.log_in(NAME, PASSWORD).status == 302
        yield Library(server, visitor, **keys)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    yield from open_library(tmp_path_factory.mktemp("collection"))


@pytest.fixture(scope="session")
def shared_library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """One for all modules that change nothing which another one asks for."""
    yield from open_library(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="session")
def library_with_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """One for all tests that need an orchestrator, a supervisor or what ``archivebox server`` prints."""
    yield from open_library(tmp_path_factory.mktemp("workers"), Server)


@pytest.fixture(scope="module")
def public_library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    yield from open_library(tmp_path_factory.mktemp("public"), PUBLIC_INDEX="true", PUBLIC_SNAPSHOTS="true")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not PROGRAM:
        pytest.skip("there is no chromium here")
    with Browser() as running:
        yield running
