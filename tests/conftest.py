"""Owns the fixtures that tests of every level share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collection import django_db_setup
from tests.programs import SHARED, Programs
from tests.site.serve import Site

__all__ = ["django_db_setup"]

ROWS = frozenset({"db", "transactional_db", "library", "library_with_workers", "public_library"})
"""Fixtures that open a database: this process's own, or that of a collection which commands work on."""


LOCAL_WEB = {"PRIVATE_NETWORK_ALLOWLIST": "127.0.0.0/8"}
"""What opens the three origins of tests/site to a crawl, as a person opens an intranet; every test's environment."""


def pytest_configure() -> None:
    """A shell starts what runs in its background with SIGINT ignored; every process of a test would inherit it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(LOCAL_WEB)


@pytest.hookimpl(tryfirst=True)  # before the choice by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as ``database`` what asks for rows."""
    for item in items:
        if isinstance(item, pytest.Function) and ROWS.intersection(item.fixturenames):
            item.add_marker("database")


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """The local web (tests/site/README.md), one per test process."""
    with Site() as running:
        yield running


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """The programs of plugins: `programs.install("ytdlp")` before a test that runs yt-dlp, from the registry, once."""
    shared = os.environ.get(SHARED)
    return Programs(Path(shared) if shared else tmp_path_factory.mktemp("lib"))
